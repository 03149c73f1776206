"""Engines that run on one machine: their configuration and their programs."""
