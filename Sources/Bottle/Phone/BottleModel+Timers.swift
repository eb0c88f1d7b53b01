package import HoldfastCore

extension BottleModel {
  package enum Timer: CaseIterable, Sendable {
    case link, time, syncStart, sync, requests
  }

  package func due(_ timer: Timer) -> Instant? {
    switch timer {
    case .link: link.deadline
    case .time: connection?.timeAt
    case .syncStart: connection?.syncAt
    case .sync: sync.deadline
    case .requests: requests.deadline
    }
  }

  package mutating func expire(_ timer: Timer, _ step: inout Step) {
    switch timer {
    case .link: follow(link.tick(at: step.now), &step)
    case .time: setTime(&step)
    case .syncStart:
      connection?.syncAt = nil
      startSyncIfNeeded(&step)
    case .sync: syncIsLate(&step)
    case .requests: requestsAreDue(&step)
    }
  }
}
