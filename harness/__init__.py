"""Boards, builds, links, measurements and reports for kilobyte-size classifiers."""
