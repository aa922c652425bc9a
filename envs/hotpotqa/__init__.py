"""HotpotQA and MuSiQue as text: hops, findings with their paragraphs, and an answer; the home of SDP's adapter."""

from envs.hotpotqa.environment import HotpotEnvironment
from envs.hotpotqa.loader import load
from envs.hotpotqa.sdp import HopAdapter
from envs.hotpotqa.setting import Setting

__all__ = ["HopAdapter", "HotpotEnvironment", "Setting", "load"]
