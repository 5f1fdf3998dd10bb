"""The papers' tables and figures, regenerated, with their own numbers beside ours."""
