"""The toy analysis of TAPE (appendix A, figure 1b): simulated agents beside the bounds of section 4."""
