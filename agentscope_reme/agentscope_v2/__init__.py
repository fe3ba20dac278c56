"""agentscope_v2"""
