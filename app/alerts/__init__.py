"""Dependabot alerts between runs: polled, admitted, confirmed as fixed, rechecked."""
