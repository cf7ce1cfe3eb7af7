"""What is learned from: anything that can be reset and stepped, or a log of it, behind one interface."""
