/// An action of a link that becomes due without an input.
package enum LinkDeadline: String, Sendable, Hashable {
  case leavesBackground = "it leaves the background's connection"
  case refreshTimesOut = "the refresh of tokens times out"
  case refresh = "tokens are refreshed"
  case pathIsStable = "the network counts as stable"
  case attempt = "the next try"
  case prepareTimesOut = "preparing times out"
  case openTimesOut = "opening times out"
  case confirmTimesOut = "the confirmation times out"
  case connectionIsStable = "it counts as stable"
  case silence = "silence ends it"
  case pongIsLate = "the answer to a ping is late"
  case ping = "the next ping"
  case unused = "it is closed as unused"
  case pollTimesOut = "the poll times out"
  case poll = "the next poll"
  case probe = "the next try beside polls"
  case rearm = "the connect is queued again"
}

extension HeldLink {
  /// The link's deadlines by name, the earliest first. The earliest of them is `deadline`, by which
  /// the link runs.
  package var deadlines: [(name: LinkDeadline, at: Instant)] {
    var list = stateDeadlines
    if let at = gate.leavesAt { list.append((.leavesBackground, at)) }
    if credentialsDeadline != nil {
      if let at = gate.credentials.refreshBy { list.append((.refreshTimesOut, at)) }
      if let at = gate.credentials.refreshAt { list.append((.refresh, at)) }
    }
    return (list + standbyDeadlines).sorted { $0.at < $1.at }
  }

  private var stateDeadlines: [(name: LinkDeadline, at: Instant)] {
    switch state {
    case .debouncing(let debouncing): [(.pathIsStable, debouncing.until)]
    case .waiting(let waiting): [(.attempt, waiting.until)]
    case .preparing(let trying): [(.prepareTimesOut, trying.until)]
    case .opening(let trying): [(.openTimesOut, trying.until)]
    case .establishing(let trying): [(.confirmTimesOut, trying.until)]
    case .ready(let ready):
      (ready.stableAt.map { [(.connectionIsStable, $0)] } ?? []) + ready.liveness.deadlines
    case .idle, .held, .refreshing, .resting, .failed: []
    }
  }

  private var standbyDeadlines: [(name: LinkDeadline, at: Instant)] {
    guard runsStandby else { return [] }
    switch standby.state {
    case .polling(let polling):
      let poll = (polling.isAsking ? LinkDeadline.pollTimesOut : .poll, polling.nextPoll)
      guard case .resting = state, gate.intent == .live, !isLeftForStandby else { return [poll] }
      return [poll, (.probe, polling.nextProbe)]
    case .rearming(let at): return [(.rearm, at)]
    case .off, .queued: return []
    }
  }
}

extension Liveness {
  fileprivate var deadlines: [(name: LinkDeadline, at: Instant)] {
    var list: [(name: LinkDeadline, at: Instant)] = []
    if let at = silenceEnds { list.append((.silence, at)) }
    if let at = pongDue { list.append((.pongIsLate, at)) }
    if let at = pingDue { list.append((.ping, at)) }
    if let at = idleEnds { list.append((.unused, at)) }
    return list
  }
}
