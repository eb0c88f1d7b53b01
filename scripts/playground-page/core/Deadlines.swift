// Words for the page about what a link waits for. scripts/playground compiles this file into the
// core, whose state it reads. This is a text for readers, and not a second account of the link's
// deadlines: nothing runs by it, and nothing is compared with it. The link runs by `deadline`.

extension HeldLink {
  /// What the state of the link waits for, in words, and until when: the earliest first.
  package var waitWords: [(name: String, at: Instant)] {
    var list = stateDeadlines
    if let at = gate.leavesAt { list.append(("it leaves the background's connection", at)) }
    if credentialsDeadline != nil {
      if let at = gate.credentials.refreshBy {
        list.append(("the refresh of tokens times out", at))
      }
      if let at = gate.credentials.refreshAt { list.append(("tokens are refreshed", at)) }
    }
    return (list + standbyDeadlines).sorted { $0.at < $1.at }
  }

  private var stateDeadlines: [(name: String, at: Instant)] {
    switch state {
    case .debouncing(let debouncing): [("the network counts as stable", debouncing.until)]
    case .waiting(let waiting): [("the next try", waiting.until)]
    case .preparing(let trying): [("preparing times out", trying.until)]
    case .opening(let trying): [("opening times out", trying.until)]
    case .establishing(let trying): [("the confirmation times out", trying.until)]
    case .ready(let ready): deadlines(of: ready)
    case .idle, .held, .refreshing, .resting, .failed: []
    }
  }

  private func deadlines(of ready: Ready) -> [(name: String, at: Instant)] {
    let (liveness, rules) = (ready.liveness, policy.liveness)
    var list: [(name: String, at: Instant)] = []
    if let at = ready.stableAt { list.append(("it counts as stable", at)) }
    if let silence = rules.silence {
      list.append(("silence ends it", liveness.lastReceived.advanced(by: silence)))
    }
    if let ping = liveness.outstanding {
      let since = max(ping.sentAt, liveness.lastReceived)
      list.append(("the answer to a ping is late", since.advanced(by: liveness.pongTimeout)))
    } else if let wait = rules.ping(in: liveness.quality) {
      list.append(("the next ping", liveness.lastPing.advanced(by: wait)))
    }
    if let idle = rules.idle {
      list.append(("it is closed as unused", liveness.lastData.advanced(by: idle.after)))
    }
    return list
  }

  private var standbyDeadlines: [(name: String, at: Instant)] {
    guard runsStandby else { return [] }
    switch standby.state {
    case .polling(let polling):
      let poll = (polling.isAsking ? "the poll times out" : "the next poll", polling.nextPoll)
      guard case .resting = state, gate.intent == .live, !isLeftForStandby else { return [poll] }
      return [poll, ("the next try beside polls", polling.nextProbe)]
    case .rearming(let at): return [("the connect is queued again", at)]
    case .off, .queued: return []
    }
  }
}
