/// Something that somebody does, or that goes wrong for a time; each trouble ends by itself, so
/// that a plan stays sensible whatever is taken out of it.
public enum Action: Sendable, Hashable {
  // People.
  /// Others post so many messages in a row.
  case others(messages: Int)
  /// The user posts a message.
  case send
  case loadOlder
  case pullToRefresh
  case retryFailed
  /// Looks at something else for a while; the app stays in memory and its timers run.
  case background(for: Duration)
  /// Looks at something else, and the system suspends the app after 5 s.
  case suspend(for: Duration)
  /// The device sleeps whole and wakes.
  case sleep(for: Duration)
  /// Leaves the shop's screen and comes back.
  case leaveScreen(for: Duration)
  /// Switches real-time messages off and on again.
  case realtimeOff(for: Duration)
  /// Lets so many updates lie that the stream is told to take no more.
  case slowReader(for: Duration)
  /// The process dies between two effects and is launched again.
  case kill(relaunchAfter: Duration)

  // The network.
  /// Every connection is reset.
  case reset
  /// Every connection is reset some seconds after it opened.
  case flap(for: Duration)
  /// Connections look open to both sides and nothing passes on them any more.
  case halfOpen
  /// Nothing passes, on any connection, and nobody is told.
  case blackHole(for: Duration)
  /// The device has no way out, and knows.
  case unreachable(for: Duration)
  /// Another interface takes over; old connections are dead.
  case handover
  /// A mapping is forgotten: what was idle for a minute is dead without a word.
  case mappingExpired
  /// A login page answers in the server's place; the device knows it or does not.
  case captivePortal(for: Duration, isKnown: Bool)
  /// No new connection comes about, neither a socket nor a request's, for this reason.
  case dialsFail(Obstacle, for: Duration)
  /// So many bytes a second for a while.
  case narrow(bytesPerSecond: Int64, for: Duration)

  // The server.
  /// Its process dies; connections are refused until it is back.
  case crash(for: Duration)
  /// It drains, closes with 1001, and comes back.
  case deploy(for: Duration)
  /// It comes back with another epoch, keeping its newest messages only.
  case beginAnew(keeping: Int)
  /// Its log forgets offsets that are older than its newest so many.
  case trim(keeping: Int)
  /// Every request is answered with a status.
  case restStatus(Int, for: Duration)
  /// Every upgrade is answered with a status.
  case upgradeStatus(Int, for: Duration)
  /// The next post becomes durable, and the server dies before it answers.
  case dieAfterNextPost(for: Duration)
  /// Its store takes so long for each call.
  case slowStore(delay: Duration, for: Duration)
  /// Every token that was given so far is refused from now on; the next refresh does this.
  case revokeTokens(refresh: Refresh)
  /// The user is no member for a while.
  case removeMember(for: Duration)
  /// Sockets are sent something that is too large, or no message.
  case oversizedFrame
  case malformedFrames(count: Int)
  /// Sockets are closed with a code of RFC 6455 section 7.4.
  case close(code: UInt16)
  /// The server's wall clock jumps.
  case serverClock(by: Duration)

  // The phone.
  case storeFull(for: Duration)
  case storeLocked(for: Duration)
  case storeSlow(for: Duration)
  /// The phone's wall clock is set.
  case wallClock(by: Duration)

  /// What is in the way of new connections.
  public enum Obstacle: String, Sendable, Hashable, Codable, CaseIterable {
    /// The name does not resolve.
    case dns
    /// The proxy answers that it will not.
    case proxy
    /// Somebody else's certificate: trying again would help nobody but them.
    case certificate
    /// The phone has no descriptor left.
    case local
  }

  /// What a refresh of the token brings.
  public enum Refresh: String, Sendable, Hashable, Codable, CaseIterable {
    case works, fails, isRefused, hangs
  }
}
