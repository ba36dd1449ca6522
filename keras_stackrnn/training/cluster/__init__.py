"""Runs on the nodes of a Ray cluster: Ray finds places for them, moves what they tell, and notices
when a node is lost. Only `ray_cluster` imports Ray.
"""
