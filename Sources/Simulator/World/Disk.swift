public import LinkWire

/// The part of a phone that survives a kill: the timeline of its shop.
public typealias Disk = KeptTimeline
