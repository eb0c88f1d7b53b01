/// A fault that a `FaultProxy` applies to its connections.
public enum Fault: Sendable, Equatable {
  /// Bytes pass unchanged and at once.
  case pass
  /// New connects are refused. Open connections continue.
  case refuse
  /// Every connection, open or new, ends with a FIN on both sides.
  case cut
  /// Every connection, open or new, ends with a RST on both sides.
  case reset
  /// Connections stay open and become silent.
  case blackhole(Blackhole = Blackhole())
  /// Each byte is sent this long after it arrived. Connects are not delayed.
  case delay(Duration)
  /// Each direction of each connection transfers at most this many bytes a second, and at least 1.
  case rate(bytesPerSecond: Int)
  /// Each connection ends with a FIN after exactly this many more bytes to the client.
  case cutAfter(bytes: Int)
}

/// A silence without a close, such as that of a dead access point or an expired NAT entry.
public struct Blackhole: Sendable, Equatable {
  /// The direction of the bytes that no longer arrive.
  public enum Reach: Sendable, Equatable {
    /// The bytes of both sides.
    case both
    /// The bytes to the upstream.
    case up
    /// The bytes to the client.
    case down
  }

  /// The treatment of the bytes.
  public enum Fate: Sendable, Equatable {
    /// The bytes arrive, in order, when the fault is lifted.
    case held
    /// The bytes are lost.
    case swallowed
  }

  /// The result of a new connect.
  public enum Connects: Sendable, Equatable {
    /// The connect succeeds, followed by silence.
    case work
    /// The connect gets no answer. It succeeds where a listen queue cannot be filled (Darwin).
    case hang
  }

  /// The direction of the bytes that no longer arrive.
  public var reach: Reach
  /// The treatment of those bytes.
  public var fate: Fate
  /// The result of a new connect.
  public var connects: Connects

  public init(reach: Reach = .both, fate: Fate = .held, connects: Connects = .work) {
    self.reach = reach
    self.fate = fate
    self.connects = connects
  }
}

/// The traffic of a `FaultProxy` since its creation.
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
