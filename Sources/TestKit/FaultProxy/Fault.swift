/// A fault that a `FaultProxy` applies to its connections.
public enum Fault: Sendable, Equatable {
  /// Bytes pass unchanged and without delay.
  case pass
  /// New connections are refused. Open connections continue.
  case refuse
  /// Every connection, open or new, ends with a FIN on both sides.
  case cut
  /// Every connection, open or new, ends with a RST on both sides.
  case reset
  /// Connections stay open and become silent.
  case blackhole(Blackhole = Blackhole())
  /// Each byte is sent this long after its arrival. New connections are not delayed.
  case delay(Duration)
  /// Each direction of each connection transfers at most this many bytes per second, but at least
  /// 1.
  case rate(bytesPerSecond: Int)
  /// The first request of each new connection is answered with these bytes, and the connection ends.
  /// Open connections continue.
  case answer([UInt8])
  /// Each connection ends with a FIN after exactly this many more bytes have been sent to the
  /// client.
  case cutAfter(bytes: Int)
}

/// A silence without a close, as caused by a dead access point or an expired NAT entry.
public struct Blackhole: Sendable, Equatable {
  /// A direction in which bytes no longer arrive.
  public enum Reach: Sendable, Equatable {
    /// The bytes of both directions do not arrive.
    case both
    /// The bytes to the upstream do not arrive.
    case up
    /// The bytes to the client do not arrive.
    case down
  }

  /// A way to treat the bytes that do not arrive.
  public enum Fate: Sendable, Equatable {
    /// The bytes arrive, in order, when the fault is lifted.
    case held
    /// The bytes are lost.
    case swallowed
  }

  /// A result of a new connection attempt.
  public enum Connects: Sendable, Equatable {
    /// The attempt succeeds, followed by silence.
    case work
    /// The attempt receives no response. On Darwin, where a listen queue cannot be filled, it
    /// succeeds.
    case hang
  }

  /// The direction in which bytes no longer arrive.
  public var reach: Reach
  /// The way to treat the bytes that do not arrive.
  public var fate: Fate
  /// The result of a new connection attempt.
  public var connects: Connects

  public init(reach: Reach = .both, fate: Fate = .held, connects: Connects = .work) {
    self.reach = reach
    self.fate = fate
    self.connects = connects
  }
}

/// The traffic of a `FaultProxy` since the proxy's creation.
public struct Traffic: Sendable, Equatable {
  /// The number of accepted connections.
  public var connections: Int
  /// The number of open connections.
  public var open: Int
  /// The number of bytes sent to the upstream.
  public var bytesUp: Int
  /// The number of bytes sent to clients.
  public var bytesDown: Int

  public init(connections: Int = 0, open: Int = 0, bytesUp: Int = 0, bytesDown: Int = 0) {
    self.connections = connections
    self.open = open
    self.bytesUp = bytesUp
    self.bytesDown = bytesDown
  }
}

/// A failed system call of a `FaultProxy`.
public struct FaultProxyError: Error, Equatable {
  /// The name of the system call.
  public var call: String
  /// The `errno` of the call.
  public var code: Int32
}
