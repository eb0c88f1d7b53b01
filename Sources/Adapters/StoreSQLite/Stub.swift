// Placeholder, replaced by the first real file of this room.
