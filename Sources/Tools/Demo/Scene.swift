import Holdfast
import LinkCore
import LinkWire

/// The events of the demo so far, and the tasks that wait for further ones.
actor Scene {
  typealias Moment = ContinuousClock.Instant

  /// The events that chapters look at.
  struct Facts: Sendable {
    var accepted: [Judge.Entry] = []
    /// The messages that each run of the phone showed.
    var runs: [[Judge.Shown]] = []
    /// How many messages arrived in each way; each is counted when it is shown first.
    var via: [String: Int] = [:]
    /// The messages that were accepted and not shown yet.
    var unseen: Set<MessageID> = []
    var statuses: [(at: Moment, status: PhoneLine.Status)] = []
    /// How the current run of the phone ended.
    var ending: String?
    var relay = Relay()
    var feed = Feed()
    fileprivate var seen: Set<MessageID> = []

    var status: PhoneLine.Status { statuses.last?.status ?? PhoneLine.Status() }

    func hasEnded(_ app: App) -> Bool {
      switch app {
      case .messages: ending != nil
      case .relay: relay.ending != nil
      }
    }
  }

  /// What the phone's relay reported.
  struct Relay: Sendable {
    var statuses: [(at: Moment, word: String)] = []
    /// The pair that it shows.
    var pair: RelayLine.Pair?
    /// How it ended.
    var ending: String?
  }

  /// What the app's held socket reported.
  struct Feed: Sendable {
    var statuses: [(at: Moment, isConnected: Bool)] = []
    /// The numbers of the lines that it showed, in order.
    var lines: [Int] = []

    var isConnected: Bool { statuses.last?.isConnected ?? false }
  }

  private struct Waiting {
    var condition: @Sendable (Facts) -> Bool
    var continuation: CheckedContinuation<Moment?, Never>
  }

  private(set) var facts = Facts()
  private var waiting: [Int: Waiting] = [:]
  private var lastWaiting = 0

  func accepted(_ entry: Judge.Entry) {
    facts.accepted.append(entry)
    if !facts.seen.contains(entry.key.id) { facts.unseen.insert(entry.key.id) }
  }

  func phoneLaunched() {
    facts.runs.append([])
    facts.ending = nil
    facts.statuses.append((.now, PhoneLine.Status()))
  }

  func phoneSaid(_ line: PhoneLine) {
    switch line {
    case .status(let status): facts.statuses.append((.now, status))
    case .message(let shown):
      if !facts.runs.isEmpty { facts.runs[facts.runs.count - 1].append(shown) }
      facts.unseen.remove(shown.id)
      if facts.seen.insert(shown.id).inserted { facts.via[shown.via, default: 0] += 1 }
    case .other: return
    }
    look()
  }

  func phoneEnded(_ ending: String) {
    facts.ending = ending
    look()
  }

  func relaySaid(_ line: RelayLine) {
    switch line {
    case .status(let word): facts.relay.statuses.append((.now, word))
    case .pair(let pair): facts.relay.pair = pair
    case .other: return
    }
    look()
  }

  func appHeard(_ event: HeldSocket.Event) {
    switch event {
    case .status(let status):
      facts.feed.statuses.append((.now, status.phase == .connected))
    case .text(let text):
      if let number = text.split(separator: " ").first.flatMap({ Int($0) }) {
        facts.feed.lines.append(number)
      }
    case .binary, .quality, .sent, .notice: return
    }
    look()
  }

  // MARK: - By app

  func launched(_ app: App) {
    switch app {
    case .messages: phoneLaunched()
    case .relay: facts.relay = Relay()
    }
  }

  func heard(_ line: String, from app: App) {
    switch app {
    case .messages: if let line = PhoneLine(line) { phoneSaid(line) }
    case .relay: if let line = RelayLine(line) { relaySaid(line) }
    }
  }

  func ended(_ app: App, _ ending: String) {
    switch app {
    case .messages: phoneEnded(ending)
    case .relay:
      facts.relay.ending = ending
      look()
    }
  }

  /// Waits until `condition` holds, and returns the time; `nil` if it did not within `limit`.
  func wait(
    atMost limit: Duration, until condition: @escaping @Sendable (Facts) -> Bool
  ) async -> Moment? {
    if condition(facts) { return .now }
    lastWaiting += 1
    let number = lastWaiting
    let timer = Task {
      try? await Task.sleep(for: limit)
      waiting.removeValue(forKey: number)?.continuation.resume(returning: nil)
    }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation {
        waiting[number] = Waiting(condition: condition, continuation: $0)
      }
    } onCancel: {
      timer.cancel()
    }
  }

  private func look() {
    let now = Moment.now
    for number in waiting.keys.sorted() where waiting[number]?.condition(facts) == true {
      waiting.removeValue(forKey: number)?.continuation.resume(returning: now)
    }
  }
}
