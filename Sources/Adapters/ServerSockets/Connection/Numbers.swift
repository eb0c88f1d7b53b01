import LinkCore

extension ConnectionID {
  /// The name of the connection that the hub keeps in a slot; `serial` counts connections from 1.
  init(serial: UInt32, slot: UInt32) {
    self.init(UInt64(serial) << 32 | UInt64(slot))
  }

  /// The number of the connection among all of the server, counted from 1; 0 is no connection.
  var serial: UInt32 { UInt32(truncatingIfNeeded: number >> 32) }

  /// The place where the hub keeps the connection while it lives.
  var slot: UInt32 { UInt32(truncatingIfNeeded: number) }
}

extension RequestID {
  /// Slots that fit a request's name: 2^24, more than the descriptors that a process may have
  /// (`fs.nr_open` is 2^20 by default). The 40 bits left count 10^12 requests.
  private static let slotBits: UInt64 = 24

  /// The name of the request that is number `count` of the server, on the connection in a slot.
  init(count: UInt64, slot: UInt32) {
    self.init(count << Self.slotBits | UInt64(slot))
  }

  /// The slot of the request's connection.
  var slot: UInt32 { UInt32(truncatingIfNeeded: number & (1 << Self.slotBits - 1)) }
}
