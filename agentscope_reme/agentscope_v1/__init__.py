"""agentscope_v1"""
