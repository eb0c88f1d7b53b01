import HoldfastCore
public import HoldfastLinkChecks
import HoldfastSession
import HoldfastSessionData

/// The checkers of the guarantees that are specific to a session, and that do not need everything
/// that passes over a connection.
public struct SessionCheckers: FeatureCheckers {
  /// The feature that the checkers check.
  public typealias Feature = SessionsFeature

  /// The checkers' state of a phone.
  private struct Phone {
    /// The names of the accepted prompts, by key.
    var prompts: [UUID128: String] = [:]
    /// The names of the prompts that the user has discarded since the process began.
    var forgotten: Set<String> = []
    /// The prompts whose end was shown, with the final state.
    var ended: [UUID128: SessionPromptState.State] = [:]
    /// The messages that were shown since the process began, by their texts if these are unique,
    /// otherwise by their IDs.
    var shownNow: Set<String> = []
    var endedNow: Set<UUID128> = []
    var said: AttemptID?
    /// The messages that were acknowledged since the process began.
    var acknowledged: Set<String> = []
    /// The time at which the last prompt was sent, and the messages whose acknowledgement was
    /// pending at that time.
    var prompt: (at: Instant, pending: Set<String>)?
  }

  private var found = Findings()
  private var phones = Array(repeating: Phone(), count: SessionsFeature.phones)
  /// For each prompt, by name, the number of times that the program ran.
  private var ran: [String: Int] = [:]
  /// The keys of each prompt, by name. There are several if a user retried the prompt after an
  /// answer.
  private var keys: [String: Set<UUID128>] = [:]
  /// For each phone and conversation, the number of the last prompt that ran.
  private var last: [String: Int] = [:]

  public init() {}

  public var findings: [Finding] { found.all }

  public mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ phoneState: PhoneState<SessionsFeature>
  ) {
    for effect in effects { requested(effect, phoneState) }
  }

  public mutating func requested(
    _ effect: Feature.Effect, _ phoneState: PhoneState<SessionsFeature>
  ) {
    let phone = phoneState.own.phone
    switch effect {
    case .connect(let attempt, _, _): phones[phone].said = attempt
    case .send(let attempt, let message): checkSent(message, attempt, phoneState)
    case .update(.status(let status)) where status.phase == .connected:
      if phoneState.own.connected == phoneState.currentAttempt { return }
      found.add(
        .falselyConnected, at: phoneState.now, "connected without the server's confirmation")
    case .update(.prompt(let prompt, let news)): checkPrompt(prompt, news, phoneState)
    case .update(.message(let entry, _, let news)):
      let isAgain = keys[entry.text.promptName]?.count ?? 1 > 1
      let name = phoneState.own.hasUniqueTexts && !isAgain ? entry.text.firstWords : entry.id
      if phoneState.own.isConfirmed(news) || !phones[phone].shownNow.insert(name).inserted {
        found.add(.duplicated, at: phoneState.now, "“\(entry.text.firstWord)” was shown twice")
      }
    case .update(.pending(let prompts)):
      for prompt in prompts { keys[prompt.text.firstWord, default: []].insert(prompt.id) }
    case .update(.gap):
      if phoneState.own.mayDrop { return }
      found.add(.falseGap, at: phoneState.now, "a gap was shown, and nothing was dropped")
    case .open, .close, .refreshCredentials, .probe, .commit, .update: return
    }
  }

  private mutating func checkSent(
    _ message: SessionClientMessage, _ attempt: AttemptID, _ phoneState: PhoneState<SessionsFeature>
  ) {
    let phone = phones[phoneState.own.phone]
    if phone.said != attempt || message == .ping && phoneState.own.connected != attempt {
      found.add(
        .unannounced, at: phoneState.now, "something was sent before the server's confirmation")
    }
    if case .prompt = message {
      let pending = phoneState.own.durable.subtracting(phone.acknowledged)
      phones[phoneState.own.phone].prompt = (phoneState.now, pending)
    }
    guard case .messageAck(let id) = message else { return }
    phones[phoneState.own.phone].acknowledged.insert(id)
    if let prompt = phone.prompt, prompt.at == phoneState.now, prompt.pending.contains(id) {
      found.add(.outranked, at: phoneState.now, "an acknowledgement went out behind a prompt")
    }
    if phoneState.own.answers.contains(id), !phoneState.own.durable.contains(id) {
      found.add(.unstored, at: phoneState.now, "a message was acknowledged before it was stored")
    }
  }

  private mutating func checkPrompt(
    _ prompt: SessionPromptState, _ news: UInt64?, _ phoneState: PhoneState<SessionsFeature>
  ) {
    let phone = phoneState.own.phone
    switch prompt.state {
    case .queued:
      phones[phone].prompts[prompt.key] = prompt.text.firstWord
      phones[phone].ended[prompt.key] = nil
      keys[prompt.text.firstWord, default: []].insert(prompt.key)
      if phones[phone].forgotten.contains(prompt.text.firstWord) {
        found.add(.duplicated, at: phoneState.now, "what was to be forgotten is tried again")
      }
      // A failed prompt may be retried.
      phones[phone].endedNow.remove(prompt.key)
    case .sent, .accepted: return
    case .answered, .failed, .interrupted, .unsure:
      let isKnown = news.map(phoneState.own.isConfirmed) ?? false
      if isKnown || !phones[phone].endedNow.insert(prompt.key).inserted {
        found.add(.duplicated, at: phoneState.now, "\(prompt.text.firstWord) ended twice")
      }
      phones[phone].ended[prompt.key] = prompt.state
      if phoneState.own.hasUniqueTexts, prompt.state == .answered {
        checkAnswer(to: prompt.text.firstWord, phoneState)
      }
    }
  }

  /// Checks that a prompt is shown as answered only once the server has an answer to that prompt.
  private mutating func checkAnswer(to name: String, _ phoneState: PhoneState<SessionsFeature>) {
    if ran[name] == nil {
      found.add(.lost, at: phoneState.now, "\(name) is answered and never ran")
    } else if !phoneState.own.answered.contains(name) {
      found.add(.untrue, at: phoneState.now, "\(name) is answered before its program was done")
    }
  }

  public mutating func launched(_ phoneState: PhoneState<SessionsFeature>) {
    let phone = phoneState.own.phone
    (phones[phone].shownNow, phones[phone].endedNow) = ([], [])
    (phones[phone].said, phones[phone].prompt) = (nil, nil)
    (phones[phone].acknowledged, phones[phone].forgotten) = ([], [])
  }

  public mutating func noted(_ fact: Feature.Fact, _ phoneState: PhoneState<SessionsFeature>) {
    switch fact {
    case .ran(let name): noteRun(of: name, phoneState)
    case .broken(let kind, let detail): found.add(kind, at: phoneState.now, detail)
    case .discarded(let phone, let key):
      if let name = phones[phone].prompts[key] { phones[phone].forgotten.insert(name) }
    case .counted, .dropped: return
    }
  }

  private mutating func noteRun(of name: String, _ phoneState: PhoneState<SessionsFeature>) {
    ran[name, default: 0] += 1
    let tries = max(keys[name]?.count ?? 1, 1)
    if ran[name] ?? 0 > tries {
      found.add(.duplicated, at: phoneState.now, "\(name) ran \(ran[name] ?? 0) times")
    }
    // A prompt that a user has retried may run at any time.
    guard tries == 1 else { return }
    let parts = name.split(separator: ".")
    guard parts.count == 3, let number = Int(parts[2]) else { return }
    let orderingKey = "\(parts[0]).\(parts[1])"
    if number < last[orderingKey] ?? 0 {
      found.add(
        .reordered, at: phoneState.now, "\(name) ran after number \(last[orderingKey] ?? 0)")
    }
    last[orderingKey] = max(last[orderingKey] ?? 0, number)
  }

  public mutating func conclude(_ phoneState: PhoneState<SessionsFeature>) {
    for phone in phones {
      let open = phone.prompts.filter { phone.ended[$0.key] == nil }.values.sorted()
      if !open.isEmpty, !phoneState.own.isPlain {
        found.add(.lost, at: phoneState.now, "\(open.joined(separator: ", ")) never ended")
      }
    }
    if phoneState.own.missing > 0 {
      found.add(.lost, at: phoneState.now, "\(phoneState.own.missing) messages were never shown")
    }
  }
}
