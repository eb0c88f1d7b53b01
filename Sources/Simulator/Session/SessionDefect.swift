import LinkCore
import LinkServerCore
import LinkStorage
import LinkWire
import Session

extension SessionsFeature {
  /// A deliberate defect of a session, on a phone or on the server.
  public enum Defect: String, DeliberateDefect {
    /// There is one kind of server.
    public typealias Server = OneServer

    // Phones.
    /// Acknowledges messages before its disk holds them.
    case acksEarly
    /// Acknowledges messages only behind the next prompt.
    case acksLate
    /// Begins without the prompts that an earlier run stored.
    case forgetsPrompts
    /// Sends each try of a prompt under another key.
    case changesKeys
    /// Shows every third message not at all.
    case dropsMessages
    case showsTwice
    /// Asks for a pong before it said who it is.
    case pingsEarly
    /// Takes an open socket for a session.
    case connectedOnOpen
    /// Sends each prompt twice.
    case repeatsPrompts
    /// Says of no prompt that it is stale.
    case neverStale
    /// Shows no quality.
    case hidesRoundTrips
    /// Sends its key although it could prove that it has it.
    case showsKey
    /// Leaves a member out of what it writes.
    case losesMembers
    /// Does not acknowledge what it stored.
    case losesAcks
    /// Does not say what it takes at most, or up to where it has all.
    case hidesSizes, connectsAnew
    /// Shows another round trip than there was.
    case stretchesRoundTrips
    /// Sends a prompt that it was told to forget.
    case sendsDiscarded
    /// Does not say that it knows numbers.
    case hidesResume
    /// Has one try more stored than there was.
    case addsTries
    /// Takes a response that comes again for another one.
    case renamesRepetitions

    // The server.
    /// Runs the program twice.
    case runsTwice
    /// Begins without the prompts that it stored.
    case forgetsKeys
    /// Does not store that the program was started.
    case forgetsMarks
    /// Says that everything is there although something was dropped.
    case hidesLoss
    /// Repeats messages under another id.
    case renamesMessages
    /// Says that messages are missing although none is.
    case inventsLoss
    /// Keeps answers, and sends none.
    case staysSilent
    /// Leaves out the first message of a window of several.
    case skipsEntries
    case losesHeartbeats
    /// Refuses, and does not say so, or for another reason.
    case hidesErrors, namesOtherCode
    /// Lets a program run that was cancelled.
    case endsNothing
    /// Does not say that it will stop.
    case hidesDrains
    /// Says of turns that they were aborted.
    case abortsTurns
    /// Has an answer stored with the number of another one.
    case renumbersAnswers

    case takesLateEvents
    case timersStopAsleep
    case closesAlive
    case ignoresWish
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
      case .takesLateEvents, .timersStopAsleep, .closesAlive, .ignoresWish, .noLiveness:
        link?.kinds ?? []
      }
    }

    public var seeds: Int { 100 }
  }
}

/// The seam between the world and its machines: clean, or as a defect would have it.
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

  func restored(_ kept: StoredSessions) -> StoredSessions {
    guard defect == .forgetsKeys else { return kept }
    var less = kept
    less.prompts = [:]
    return less
  }

  mutating func toPhone(_ input: SessionModel.Input) -> [SessionModel.Input] {
    if defect == .sendsDiscarded, case .discard(let key) = input { return [.retry(key)] }
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

  /// The bytes of a message on their way to the server.
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

  /// Whether the phone says nothing in place of an effect.
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

  /// A change whose answer has the number of the next one.
  private func renumbered(_ change: SessionChange) -> SessionChange {
    guard case .answered(let id, var answer) = change else { return change }
    answer.number += 1
    return .answered(id, answer)
  }

  /// A change that does not say that the program was started.
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

  /// What is really sent in place of a message.
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
