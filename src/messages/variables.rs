//! Environment variables that are unusable or disagree.
