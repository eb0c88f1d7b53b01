import HoldfastCore
import HoldfastLinkTrace
import HoldfastMessageData

/// The events of the demo so far, and the tasks that wait for further events.
actor Scene: AppWatcher {
  typealias Moment = ContinuousClock.Instant
  typealias Condition = @Sendable (Facts) -> Bool

  /// The facts that scenarios inspect, collected from the events so far.
  struct Facts: Sendable {
    var accepted: [MessageChecker.Entry] = []
    /// The messages that each run of the phone showed.
    var runs: [[MessageChecker.Shown]] = []
    /// The number of messages for each way of arrival. A message counts when it is first shown.
    var via: [String: Int] = [:]
    /// The accepted messages that have not been shown yet.
    var unseen: Set<MessageID> = []
    /// The word and the code that the phone's relay shows.
    var pair: AppLine.Pair?
    /// The last answer that the assistant received.
    var answer: Assistant.Answer?
    /// The numbers of the feed's lines that the app has shown, in order.
    var feed: [Int] = []
    /// The state changes of prompts in each run of the session app, in order.
    var prompts: [[AppLine.Prompt]] = []
    /// The IDs of the drinks that each run of the bottle app has shown.
    var drinks: [[Int]] = []
    /// The number of drinks that the bottle has recorded.
    var records = 0
    /// The number of drinks that the bottle has told the phone it still has to send.
    var unsynced = 0
    private var seen: Set<MessageID> = []
    private var apps: [App: AppFacts] = [:]

    subscript(app: App) -> AppFacts {
      get { apps[app] ?? AppFacts() }
      set { apps[app] = newValue }
    }

    mutating func accept(_ entry: MessageChecker.Entry) {
      accepted.append(entry)
      if !seen.contains(entry.key.id) { unseen.insert(entry.key.id) }
    }

    fileprivate mutating func note(_ prompt: AppLine.Prompt) {
      if !prompts.isEmpty { prompts[prompts.count - 1].append(prompt) }
    }

    fileprivate mutating func note(drink id: Int) {
      if !drinks.isEmpty { drinks[drinks.count - 1].append(id) }
    }

    fileprivate mutating func show(_ shown: MessageChecker.Shown) {
      if !runs.isEmpty { runs[runs.count - 1].append(shown) }
      unseen.remove(shown.id)
      if seen.insert(shown.id).inserted { via[shown.via, default: 0] += 1 }
    }
  }

  /// The facts about one app.
  struct AppFacts: Sendable {
    var statuses: [(at: Moment, status: AppLine.Status)] = []
    /// The end of the current run; `nil` while the app is running.
    var ending: AppEnding?

    var status: AppLine.Status { statuses.last?.status ?? AppLine.Status() }
  }

  private struct Waiting {
    var condition: Condition
    var continuation: CheckedContinuation<Moment?, Never>
  }

  private(set) var facts = Facts()
  private let picture: DemoPicture?
  private var waiting: [Int: Waiting] = [:]
  private var lastWaiting = 0

  /// Creates a scene without events.
  ///
  /// - Parameter picture: The page that shows the events.
  init(picture: DemoPicture? = nil) { self.picture = picture }

  /// Changes the facts, and resumes the tasks whose conditions now hold.
  func note(_ change: (inout Facts) -> Void) {
    change(&facts)
    let now = Moment.now
    for number in waiting.keys.sorted() where waiting[number]?.condition(facts) == true {
      waiting.removeValue(forKey: number)?.continuation.resume(returning: now)
    }
  }

  func launched(_ app: App) {
    note {
      if app == .messages { $0.runs.append([]) }
      if app == .session { $0.prompts.append([]) }
      if app == .bottle { $0.drinks.append([]) }
      $0[app].ending = nil
      $0[app].statuses.append((.now, AppLine.Status()))
    }
  }

  func receive(_ line: AppLine?, from app: App) async {
    switch line {
    case .status(let status): note { $0[app].statuses.append((.now, status)) }
    case .message(let shown): if app == .messages { note { $0.show(shown) } }
    case .pair(let pair): note { $0.pair = pair }
    case .prompt(let prompt):
      let isFirst = prompt.isAnswered && !facts.prompts.joined().contains(prompt)
      note { $0.note(prompt) }
      guard isFirst else { return }
      await picture?.add(.accepted, "The server answered “\(prompt.text)”.", of: .session)
    case .drink(let id): note { $0.note(drink: id) }
    case .record(let id):
      note { $0.records = max($0.records, id) }
      await picture?.add(.accepted, "The bottle recorded drink \(id).", of: .bottle)
    case .unsynced(let count): note { $0.unsynced = count }
    case .other, nil: return
    }
  }

  func ended(_ app: App, _ ending: AppEnding) async {
    note { $0[app].ending = ending }
    await picture?.ended(app, isKilled: ending.isKilled)
  }

  /// Waits until `condition` holds. Returns the time, or `nil` if the condition does not hold
  /// within `limit`.
  func wait(atMost limit: Duration, until condition: @escaping Condition) async -> Moment? {
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
}
