/// What a `FaultProxy` does to the connections that run through it.
public enum Fault: Sendable, Equatable {
  /// Bytes pass as they come.
  case pass
  /// New connects are refused; open connections go on.
  case refuse
  /// Every connection, open or new, ends with a FIN on both sides.
  case cut
  /// Every connection, open or new, ends with a RST on both sides.
  case reset
  /// Connections stay open and fall silent.
  case blackhole(Blackhole = Blackhole())
  /// Each byte leaves this long after it came. Connects are not delayed.
  case delay(Duration)
  /// Each direction of each connection moves at most this many bytes a second; at least 1.
  case rate(bytesPerSecond: Int)
  /// Each connection ends with a FIN after exactly this many more bytes to the client.
  case cutAfter(bytes: Int)
}

/// A silence without a close, as a dead access point or an expired NAT entry makes it.
public struct Blackhole: Sendable, Equatable {
  /// Which bytes no longer arrive.
  public enum Reach: Sendable, Equatable {
    /// Those of both sides.
    case both
    /// Those to the upstream.
    case up
    /// Those to the client.
    case down
  }

  /// What becomes of the bytes.
  public enum Fate: Sendable, Equatable {
    /// They arrive, in order, when the fault is lifted.
    case held
    /// They are gone.
    case swallowed
  }

  /// What a new connect finds.
  public enum Connects: Sendable, Equatable {
    /// It succeeds, and then there is silence.
    case work
    /// It gets no answer. Where a listen queue cannot be filled (Darwin) it works instead.
    case hang
  }

  /// Which bytes no longer arrive.
  public var reach: Reach
  /// What becomes of them.
  public var fate: Fate
  /// What a new connect finds.
  public var connects: Connects

  public init(reach: Reach = .both, fate: Fate = .held, connects: Connects = .work) {
    self.reach = reach
    self.fate = fate
    self.connects = connects
  }
}

/// What went through a `FaultProxy` since it was made.
public struct Traffic: Sendable, Equatable {
  /// Connections accepted.
  public var connections: Int
  /// Connections open now.
  public var open: Int
  /// Bytes handed to the upstream.
  public var bytesUp: Int
  /// Bytes handed to clients.
  public var bytesDown: Int

  public init(connections: Int = 0, open: Int = 0, bytesUp: Int = 0, bytesDown: Int = 0) {
    self.connections = connections
    self.open = open
    self.bytesUp = bytesUp
    self.bytesDown = bytesDown
  }
}

/// A system call of a `FaultProxy` that failed.
public struct FaultProxyError: Error, Equatable {
  /// Its name.
  public var call: String
  /// Its `errno`.
  public var code: Int32
}
