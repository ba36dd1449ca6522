"""Random faults, by a seed, against what docs/security.md promises."""
