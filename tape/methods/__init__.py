"""Methods of other papers over the same graph: AEC, SDP and CGDP."""
