"""What the product is held against: the least that would do the same job."""
