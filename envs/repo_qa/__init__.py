"""Questions about Python sources: what is defined where, what inherits, calls and raises what, with gold lines."""

from envs.repo_qa.errors import RepoQaError
from envs.repo_qa.index import Repository, read_package, read_repo
from envs.repo_qa.questions import RepoHop, RepoQuestion, questions

__all__ = ["RepoHop", "RepoQaError", "RepoQuestion", "Repository", "questions", "read_package", "read_repo"]
