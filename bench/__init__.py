"""The bars: measures memdeck beside a peer in the same run, on a generated memory.  See README.md here."""
