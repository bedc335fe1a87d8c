"""The parts of the leaderboard: its problems, the settings that are tried, its rows, and its verdicts."""
