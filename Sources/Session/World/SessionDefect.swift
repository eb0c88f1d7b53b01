import HoldfastCore
public import HoldfastLinkChecks
import HoldfastSession
public import HoldfastSessionChecks
import HoldfastSessionData
import HoldfastSessionServer
public import HoldfastWorldKernel

extension SessionsFeature {
  /// A deliberate defect of a session, in the app or on the server.
  public enum Defect: String, DeliberateDefect {
    /// The servers of this world. There is only one.
    public typealias Server = OneServer

    // Phones.
    /// Messages are acknowledged before they are stored on the disk.
    case acksEarly
    /// Messages are acknowledged only after the next prompt.
    case acksLate
    /// The app starts without the prompts that an earlier run stored.
    case forgetsPrompts
    /// Each attempt to send a prompt has a different key.
    case changesKeys
    /// Every third message is not shown.
    case dropsMessages
    case showsTwice
    /// A ping is sent before the `connect` message.
    case pingsEarly
    /// A session is considered connected as soon as its socket opens.
    case connectedOnOpen
    /// Each prompt is sent twice.
    case repeatsPrompts
    /// No prompt is reported as stale.
    case neverStale
    /// The connection quality is not shown.
    case hidesRoundTrips
    /// The key is sent although a proof could be sent instead.
    case showsKey
    /// A member of a message is omitted.
    case losesMembers
    /// Stored messages are not acknowledged.
    case losesAcks
    /// The maximum message size is not sent, or `connect` omits the number up to which messages
    /// were received.
    case hidesSizes, connectsAnew
    /// A longer round trip is shown than the measured one.
    case stretchesRoundTrips
    /// A discarded prompt is sent.
    case sendsDiscarded
    /// `connect` does not announce that the phone can resume.
    case hidesResume
    /// The stored statistics include one attempt too many.
    case addsTries
    /// A repeated response is treated as a different one.
    case renamesRepetitions

    // The server.
    /// The program runs twice for the same prompt.
    case runsTwice
    /// The server starts without its stored prompts.
    case forgetsKeys
    /// The start of the program is not stored.
    case forgetsMarks
    /// The server reports no loss although messages were dropped.
    case hidesLoss
    /// Messages are repeated with a different ID.
    case renamesMessages
    /// The server reports a loss although no message is missing.
    case inventsLoss
    /// Answers are stored but not sent.
    case staysSilent
    /// The first message is omitted from a window of several messages.
    case skipsEntries
    case losesHeartbeats
    /// Refusals are not sent, or are sent with a different code.
    case hidesErrors, namesOtherCode
    /// A canceled program continues to run.
    case endsNothing
    /// A drain is not announced.
    case hidesDrains
    /// Turns are reported as aborted, and aborted turns as complete.
    case abortsTurns
    /// An answer is stored with the number of another answer.
    case renumbersAnswers

    case takesLateEvents
    case timersStopAsleep
    case closesAlive
    case ignoresRetryAfter
    case noLiveness

    public var kinds: [Finding.Kind] {
      switch self {
      case .acksEarly: [.unstored]
      case .acksLate: [.outranked]
      case .forgetsPrompts, .dropsMessages: [.lost, .unhealed]
      case .changesKeys, .showsTwice, .runsTwice, .forgetsKeys, .forgetsMarks, .renamesMessages:
        [.duplicated]
      case .pingsEarly: [.unannounced]
      case .connectedOnOpen: [.falselyConnected]
      case .hidesLoss: [.lost, .unhealed]
      case .inventsLoss: [.falseGap]
      case .staysSilent: [.unhealed, .lost]
      case .skipsEntries, .hidesRoundTrips: [.untrue]
      case .losesAcks, .hidesSizes, .connectsAnew, .stretchesRoundTrips: [.untrue]
      case .namesOtherCode, .hidesDrains, .hidesResume, .abortsTurns, .renumbersAnswers: [.untrue]
      case .renamesRepetitions: [.untrue]
      case .endsNothing: [.untimely]
      case .showsKey: [.leaked]
      case .losesMembers: [.misread]
      case .sendsDiscarded: [.duplicated]
      case .repeatsPrompts, .neverStale, .losesHeartbeats: [.untimely]
      case .hidesErrors, .addsTries: [.miscounted]
      case .takesLateEvents, .timersStopAsleep, .closesAlive, .ignoresRetryAfter, .noLiveness:
        link?.kinds ?? []
      }
    }

    public var seeds: Int { 100 }
  }
}

/// The seam between the world and its state machines, with or without a defect.
struct SessionSeam {
  let defect: SessionsFeature.Defect?
  private var tries: UInt64 = 0
  private var attempt: AttemptID?
  private var acks: [SessionModel.Effect] = []
  private var responses: Set<String> = []

  init(_ defect: SessionsFeature.Defect?) {
    self.defect = defect
  }

  func restored(_ snapshot: ClientSessionSnapshot) -> ClientSessionSnapshot {
    guard defect == .forgetsPrompts else { return snapshot }
    var less = snapshot
    less.prompts = []
    return less
  }

  func restored(_ sessions: StoredSessions) -> StoredSessions {
    guard defect == .forgetsKeys else { return sessions }
    var less = sessions
    less.prompts = [:]
    return less
  }

  mutating func toPhone(_ input: SessionModel.Input) -> [SessionModel.Input] {
    if defect == .sendsDiscarded, case .discard(let key) = input {
      return [.retry(key, as: UUID128(high: key.low, low: key.high))]
    }
    if defect == .renamesRepetitions,
      case .frame(let attempt, .response(var response), let bytes, let wall) = input,
      let id = response.id, !responses.insert(id).inserted
    {
      response.id = id + "-again"
      return [.frame(attempt, .response(response), bytes: bytes, at: wall)]
    }
    guard defect == .connectedOnOpen, case .opened(let attempt) = input else { return [input] }
    let hello = SessionServerMessage.hello(SessionHello(message: ""))
    let connected = SessionServerMessage.connected(
      SessionConnected(message: "", session: "", version: .newest))
    let wall = Timestamp(nanoseconds: 0)
    return [input] + [hello, connected].map { .frame(attempt, $0, bytes: 0, at: wall) }
  }

  /// Returns the encoded bytes of a message to the server.
  func written(_ message: SessionClientMessage) -> [UInt8] {
    guard defect == .losesMembers, case .prompt(var prompt) = message else { return message.bytes }
    prompt.number = nil
    return SessionClientMessage.prompt(prompt).bytes
  }

  mutating func fromPhone(_ effect: SessionModel.Effect) -> [SessionModel.Effect] {
    if case .connect(let attempt, _, _) = effect { self.attempt = attempt }
    if withholds(effect) { return [] }
    switch effect {
    case .commit(_, let change) where defect == .acksEarly:
      return change.news.compactMap { acknowledgement(of: $0) } + [effect]
    case .send(_, .messageAck) where defect == .acksLate:
      acks.append(effect)
      return []
    case .send(_, .prompt) where defect == .acksLate:
      defer { acks = [] }
      return [effect] + acks
    case .send(let attempt, .prompt(var prompt)) where defect == .changesKeys:
      tries += 1
      prompt.idempotencyKey = UUID128(high: 0xBAD, low: tries).description
      prompt.number = nil
      return [.send(attempt, .prompt(prompt))]
    case .update(.message(_, _, let news)) where defect == .dropsMessages:
      return news % 3 == 0 ? [] : [effect]
    case .update(.message) where defect == .showsTwice: return [effect, effect]
    case .send(_, .prompt) where defect == .repeatsPrompts: return [effect, effect]
    case .update(.quality(let quality, let time?)) where defect == .stretchesRoundTrips:
      return [.update(.quality(quality, roundTrip: time + .milliseconds(1)))]
    case .connect(let attempt, var connect, let challenge) where defect == .connectsAnew:
      connect.received = 0
      return [.connect(attempt, connect, challenge: challenge)]
    case .connect(let attempt, var connect, let challenge) where defect == .hidesResume:
      connect.features.remove(.resume)
      return [.connect(attempt, connect, challenge: challenge)]
    case .commit(let id, var change) where defect == .addsTries && !change.days.isEmpty:
      change.days[0].tries += 1
      return [.commit(id, change)]
    case .connect(let attempt, _, _) where defect == .pingsEarly:
      return [.send(attempt, .ping), effect]
    case .open, .close, .connect, .send, .refreshCredentials, .probe, .commit, .update:
      return [effect]
    }
  }

  /// Returns whether the defect suppresses an effect.
  private func withholds(_ effect: SessionModel.Effect) -> Bool {
    if case .send(_, .messageAck) = effect { return defect == .losesAcks }
    if case .send(_, .setMaxMessageSize) = effect { return defect == .hidesSizes }
    if case .update(.notice(.stale)) = effect { return defect == .neverStale }
    if case .update(.quality) = effect { return defect == .hidesRoundTrips }
    return false
  }

  private func acknowledgement(of news: SessionNews) -> SessionModel.Effect? {
    guard let attempt, let entry = news.entry else { return nil }
    return .send(attempt, .messageAck(entry.id))
  }

  func fromServer(_ effect: SessionServer.Effect) -> [SessionServer.Effect] {
    switch effect {
    case .run where defect == .runsTwice: return [effect, effect]
    case .cancel where defect == .endsNothing: return []
    case .store(let token, let changes) where defect == .forgetsMarks:
      return [.store(token, changes.compactMap(unmarked))]
    case .store(let token, let changes) where defect == .renumbersAnswers:
      return [.store(token, changes.map(renumbered))]
    case .send(let id, let message): return sent(message).map { .send(id, $0) }
    case .accept, .refuse, .noticeDrain, .ping, .close, .drop, .run, .cancel, .store, .finished:
      return [effect]
    }
  }

  /// Returns a change in which the answer has the number of the next answer.
  private func renumbered(_ change: SessionChange) -> SessionChange {
    guard case .answered(let id, var answer) = change else { return change }
    answer.number += 1
    return .answered(id, answer)
  }

  /// Returns a change without the mark that the program was started; `nil` if the change consists
  /// only of that mark.
  private func unmarked(_ change: SessionChange) -> SessionChange? {
    switch change {
    case .started: return nil
    case .prompt(var prompt):
      if prompt.stage == .started { prompt.stage = .accepted }
      return .prompt(prompt)
    case .client, .endClient, .answered, .taken, .endPrompt, .conversation, .entry, .prune,
      .endConversation:
      return change
    }
  }

  /// Returns the messages to send in place of a message.
  private func sent(_ message: SessionServerMessage) -> [SessionServerMessage] {
    switch message {
    case .connected(var connected) where defect == .hidesLoss:
      if connected.isRecovered == false { connected.isRecovered = true }
      return [.connected(connected)]
    case .connected(var connected) where defect == .inventsLoss:
      connected.isRecovered = false
      return [.connected(connected)]
    case .error(let error) where defect == .hidesLoss:
      return error.code == "not_recovered" ? [] : [message]
    case .history(var window) where defect == .hidesLoss:
      window.gap = nil
      return [.history(window)]
    case .history(var window) where defect == .skipsEntries && window.entries.count > 1:
      window.entries.removeFirst()
      return [.history(window)]
    case .heartbeat where defect == .losesHeartbeats: return []
    case .turnComplete(let conversation, let isAborted) where defect == .abortsTurns:
      return [.turnComplete(conversation: conversation, isAborted: !isAborted)]
    case .error where defect == .hidesErrors: return []
    case .error(var error) where defect == .namesOtherCode:
      error.code = "other"
      return [.error(error)]
    case .draining where defect == .hidesDrains: return []
    case .replay(let id, var entry, let number) where defect == .renamesMessages:
      entry.id = id + "-again"
      return [.replay(id: entry.id, entry, number: number)]
    case .response, .replay, .history, .historyBatch: return defect == .staysSilent ? [] : [message]
    case .hello, .connected, .pong, .ack, .responsePart, .error, .authError, .turnComplete,
      .heartbeat, .draining, .sessionKilled, .unknown:
      return [message]
    }
  }
}
