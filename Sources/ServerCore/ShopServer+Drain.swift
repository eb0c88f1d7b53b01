import LinkCore
import LinkWire

extension ShopServer {
  /// Begins to go away: new work is refused, what waits for the store may still end well.
  mutating func drain(within window: Duration) {
    guard mode == .serving else { return }
    mode = .draining(
      within: window, closeAt: now.advanced(by: policy.drainGrace),
      giveUpAt: now.advanced(by: policy.drainLimit))
    for id in inPhase(\.isWaiting) {
      forget(id)
      refuse(id, .error(503, "draining", retryAfter: window))
    }
    let open = inPhase(\.isOpen)
    if !open.isEmpty { effects.append(.send(.draining(within: window), to: open)) }
  }

  mutating func advanceDrain() {
    if case .draining(let window, let closeAt, let giveUpAt) = mode, now >= closeAt {
      mode = .leaving(within: window, giveUpAt: giveUpAt)
      for id in inPhase(\.isOpen) {
        close(id, .draining(within: window))
      }
    }
    if let giveUpAt, now >= giveUpAt {
      let late = Answer.error(503, "the server stopped", retryAfter: policy.busyRetry)
      for id in requests.keys.sorted() { answer(id, late) }
      for id in connections.keys.sorted() { drop(id) }
      questions = [:]
    }
  }

  private var giveUpAt: Instant? {
    switch mode {
    case .serving, .finished: nil
    case .draining(_, _, let giveUpAt), .leaving(_, let giveUpAt): giveUpAt
    }
  }

  /// Ends the drain once nobody is connected, nobody waits and the store owes nothing.
  mutating func finishIfEmpty() {
    switch mode {
    case .serving, .finished: return
    case .draining, .leaving:
      guard connections.isEmpty, requests.isEmpty, questions.isEmpty else { return }
      mode = .finished
      effects.append(.finished)
    }
  }

  private func inPhase(_ matches: KeyPath<Connection, Bool>) -> [ConnectionID] {
    connections.filter { $0.value[keyPath: matches] }.keys.sorted()
  }
}

extension Connection {
  var isWaiting: Bool {
    switch phase {
    case .waiting: true
    case .open, .closing: false
    }
  }

  var isOpen: Bool {
    switch phase {
    case .open: true
    case .waiting, .closing: false
    }
  }
}
