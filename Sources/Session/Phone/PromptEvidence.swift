import HoldfastCore
import HoldfastSessionData

/// Evidence about the turns of one conversation on a server without idempotency keys.
///
/// Messages are identified by their IDs and ordered by their positions. A user message with a
/// prompt's text at or after its floor proves that the server has the prompt. The end of a turn
/// ends the prompt if no other turn can have ended with it. Insufficient evidence changes nothing:
/// the prompt waits for more evidence, and its outcome is unknown if none arrives.
struct PromptEvidence: Sendable, Hashable {
  /// A message of the history.
  private struct Row: Sendable, Hashable {
    var position: UInt64?
    /// Whether the message repeats text that was shown under another ID.
    var isRepetition = false
    /// Whether the message follows a prompt of another client but not the prompt of this client.
    var isOthers = false
  }

  /// This client's prompt in progress.
  private struct Own: Sendable, Hashable {
    let key: UUID128
    let text: String
    /// The first position that the prompt's message can have.
    var floor: UInt64
    /// Whether the server acknowledged the prompt.
    var isAccepted: Bool
    /// Whether the prompt was sent on the current connection.
    var isHere: Bool
    /// The number of messages with the prompt's text, and the position of the last one.
    var count = 0
    var position: UInt64?
    /// The most recent assistant text after the prompt.
    var spoken: String?
    /// Whether there was inconclusive evidence that the prompt ended.
    var isDoubtful = false
  }

  /// A turn of another client or of an abandoned prompt.
  private struct Other: Sendable, Hashable {
    var position: UInt64?
    var isSpoken = false
    /// The instant of the server's most recent activity for the turn.
    var sign: Instant
  }

  /// Text that the history will repeat, under the same ID or another one.
  private struct Echo: Sendable, Hashable {
    var role: SessionRole
    var text: String
    var id: String?
  }

  /// The time without activity after which a turn counts as over.
  private let timeout: Duration
  private var own: Own?
  private var others: [Other] = []
  private var rows: [String: Row] = [:]
  /// The IDs of `rows`, oldest first.
  private var order: [String] = []
  private var echoes: [Echo] = []
  private var ends = TurnEnds()
  /// The ID of the message that ended this client's last prompt, as `KnownConversation` stores it.
  private(set) var lastEnd: String?
  /// Whether `echoes` contains the text of the prompt that `lastEnd` refers to.
  private var knowsLast = false
  /// Whether messages that may belong to the prompt are missing.
  private var hasHole = false
  /// Whether all messages that the server had of the conversation have ever been received.
  private var wasCurrent = false

  private static let rowLimit = 1_000
  private static let echoLimit = 100

  init(_ known: KnownConversation?, timeout: Duration, at now: Instant) {
    self.timeout = timeout
    lastEnd = known?.lastEnd
    let open = min(known?.openTurns ?? 0, Self.rowLimit)
    others = Array(repeating: Other(sign: now), count: max(0, open))
  }

  // MARK: What it says

  /// The key of the prompt in progress.
  var key: UUID128? { own?.key }

  /// Whether the history contains the prompt.
  var isSeen: Bool {
    guard let own else { return false }
    return own.count > repeated(own.text) && (lastEnd == nil || knowsLast)
  }

  /// The first position that the prompt's message can have. If the prompt was seen, this is the
  /// first position of its answer.
  var floor: UInt64? { isSeen ? own?.position.map { $0 + 1 } ?? own?.floor : own?.floor }

  /// Whether the server may have the prompt, according to the evidence.
  var mayBeThere: Bool { hasHole || (own?.count ?? 0) > 0 || !ends.waiting.isEmpty }

  /// The number of other turns that have no assistant text.
  var openTurns: Int { others.count { !$0.isSpoken } }

  /// The state of the prompt in progress and of the turns around it.
  ///
  /// The summary is a copy, since the optimizer of Swift 6.3.1 fails if the evidence is read
  /// between changes.
  struct Summary: Sendable, Hashable {
    var key: UUID128?
    var isSeen: Bool
    var floor: UInt64?
    var mayBeThere: Bool
    var lastEnd: String?
    var openTurns: Int
  }

  var summary: Summary {
    Summary(
      key: key, isSeen: isSeen, floor: floor, mayBeThere: mayBeThere, lastEnd: lastEnd,
      openTurns: openTurns)
  }

  /// The longest wait for the prompt's end without further evidence.
  var timeLimit: Duration {
    let mayBeOver =
      own.map { $0.isDoubtful || !$0.isHere && $0.spoken != nil } ?? false
      || !ends.waiting.isEmpty
    return mayBeOver ? quiet : timeout
  }

  private var quiet: Duration { min(SessionSettings.quietTime, timeout) }

  /// Returns whether a message has already ended a turn.
  func hasEnded(by id: String?) -> Bool { ends.contains(id) }

  /// Returns whether an answer was already shown as a message of the history under another ID.
  func hasShown(_ text: String, as id: String?) -> Bool {
    own?.spoken == text && id.flatMap { rows[$0] } == nil
  }

  /// Returns whether a message of the history repeats text that was already shown.
  func isRepetition(_ entry: SessionEntry) -> Bool { rows[entry.id]?.isRepetition ?? false }

  /// Returns the number of earlier prompts with this text that have not appeared in the history.
  private func repeated(_ text: String) -> Int {
    echoes.count { $0.role == .user && $0.text == text }
  }

  // MARK: Prompts

  /// Makes a prompt the current one.
  mutating func begin(_ prompt: StoredPrompt, isHere: Bool, at now: Instant) {
    guard own?.key != prompt.id else {
      own?.isHere = isHere
      own?.isAccepted = prompt.isAccepted
      return
    }
    let (quiet, timeout) = (quiet, timeout)
    others.removeAll { other in
      other.sign.duration(to: now) >= (other.isSpoken ? quiet : timeout)
    }
    var own = Own(
      key: prompt.id, text: prompt.text, floor: prompt.floor ?? 0, isAccepted: prompt.isAccepted,
      isHere: isHere)
    if prompt.isSeen {
      own.count = 1 + repeated(own.text)
      own.position = own.floor > 0 ? own.floor - 1 : nil
    }
    (self.own, hasHole) = (own, false)
  }

  /// Records that the server acknowledged the prompt.
  mutating func accept(_ key: UUID128) {
    guard own?.key == key else { return }
    own?.isAccepted = true
    // Earlier evidence concerned something other than this prompt.
    own?.isDoubtful = false
  }

  /// Records a refusal that names no prompt. Returns false if it may repeat an earlier refusal.
  mutating func refuse(_ error: String) -> Bool {
    ends.note(TurnEnd(result: .failure(error: error)))?.mayRepeat == false
  }

  /// Records that the connection was lost.
  mutating func lose() {
    own?.isHere = false
    ends.lose()
  }

  /// Returns the value of `lastEnd` to store if a message ends the prompt.
  func lastEnd(by id: String?) -> String? { own == nil ? lastEnd : isSeen ? nil : id ?? "" }

  /// Removes the prompt after its end was stored or the user discarded the prompt.
  mutating func finish(by id: String?) {
    guard let own else { return }
    lastEnd = lastEnd(by: id)
    knowsLast = lastEnd != nil
    if knowsLast { remember(Echo(role: .user, text: own.text)) }
    (self.own, hasHole) = (nil, false)
  }

  /// Stops waiting for the prompt, whose turn may not be over. Returns the unattributed ends.
  mutating func giveUp(at now: Instant) -> [TurnEnd] {
    if let own {
      // A turn with assistant text has been silent for so long that it counts as over.
      let isSpoken = own.spoken != nil
      let sign = isSpoken ? now.advanced(by: .zero - timeLimit) : now
      add(Other(position: own.position, isSpoken: isSpoken, sign: sign))
    }
    let waiting = ends.takeWaiting()
    // As many turns are over as ends have arrived, although it is unknown which ones.
    others.removeLast(min(others.count, waiting.count { !$0.isDoubtful }))
    return waiting
  }

  /// Records inconclusive evidence that the prompt ended.
  mutating func doubt() { own?.isDoubtful = true }

  /// Records an answer that was shown. The history will repeat it.
  mutating func note(_ text: String, as id: String?) {
    guard id.flatMap({ rows[$0] }) == nil, id == nil || !echoes.contains(where: { $0.id == id })
    else { return }
    remember(Echo(role: .assistant, text: text, id: id))
  }

  private mutating func remember(_ echo: Echo) {
    echoes.append(echo)
    if echoes.count > Self.echoLimit { echoes.removeFirst() }
  }

  // MARK: The history

  /// Records that messages are missing. After a reset, earlier positions are meaningless.
  mutating func skip(isReset: Bool) {
    hasHole = true
    guard isReset else { return }
    others = []
    for id in order { rows[id]?.position = nil }
    own?.floor = 0
    own?.position = nil
  }

  /// Records a message at a new position. Returns whether it repeats text that was already shown.
  mutating func take(_ entry: SessionEntry, at now: Instant) -> Bool {
    guard rows[entry.id] == nil else { return isRepetition(entry) }
    var row = Row(position: entry.position)
    switch entry.role {
    case .user: row.isRepetition = noteUserText(entry, at: now)
    case .assistant:
      row.isOthers = own?.count ?? 0 == 0 && !others.isEmpty
      row.isRepetition = noteAssistantText(entry, at: now)
    case .system: break
    }
    rows[entry.id] = row
    order.append(entry.id)
    if order.count > Self.rowLimit { rows[order.removeFirst()] = nil }
    return row.isRepetition
  }

  private mutating func noteUserText(_ entry: SessionEntry, at now: Instant) -> Bool {
    if let own, own.text == entry.text, entry.position ?? own.floor >= own.floor {
      self.own?.count += 1
      self.own?.position = entry.position
      self.own?.spoken = nil
      return true
    }
    if let index = echoes.firstIndex(where: { $0.role == .user && $0.text == entry.text }) {
      echoes.remove(at: index)
      // No further echo is left, so a later message does not belong to an earlier prompt.
      if knowsLast, !echoes.contains(where: { $0.role == .user }) { lastEnd = nil }
      return true
    }
    add(Other(position: entry.position, sign: now))
    return false
  }

  private mutating func add(_ other: Other) {
    others.append(other)
    if others.count > Self.rowLimit { others.removeFirst() }
  }

  private mutating func noteAssistantText(_ entry: SessionEntry, at now: Instant) -> Bool {
    if entry.id == lastEnd { discardEvidence(entry.position) }
    let index =
      echoes.firstIndex { $0.id == entry.id }
      ?? echoes.firstIndex { $0.role == .assistant && $0.text == entry.text }
    let echo = index.map { echoes.remove(at: $0) }
    // Text from before this client's first connection belongs to finished turns. Later text may be
    // intermediate output of a turn.
    if !wasCurrent { others = [] }
    for index in others.indices { (others[index].isSpoken, others[index].sign) = (true, now) }
    if let own, own.count > 0, echo == nil { self.own?.spoken = entry.text }
    return echo.map { $0.id != entry.id } ?? false
  }

  /// Discards the evidence from before the end of an earlier prompt, which has now appeared in the
  /// history.
  private mutating func discardEvidence(_ position: UInt64?) {
    (lastEnd, knowsLast) = (nil, false)
    echoes.removeAll { $0.role == .user }
    others = []
    guard var own else { return }
    (own.count, own.position, own.spoken) = (0, nil, nil)
    if let position { own.floor = max(own.floor, position + 1) }
    self.own = own
  }

  // MARK: Ends of turns

  /// Records the end of a turn. Returns the ends that can now be attributed.
  ///
  /// - Parameter isCurrent: Whether all messages that the server had of the conversation were
  ///   received.
  mutating func take(_ end: TurnEnd, isCurrent: Bool) -> [AttributedEnd] {
    guard let end = ends.note(end) else { return [AttributedEnd(end)] }
    return attribute(end, isCurrent: isCurrent)
  }

  /// Attributes the waiting ends again, after more of the history was received.
  mutating func attributeWaiting(isCurrent: Bool) -> [AttributedEnd] {
    wasCurrent = wasCurrent || isCurrent
    return ends.takeWaiting().flatMap { attribute($0, isCurrent: isCurrent) }
  }

  /// Attributes an end that names no message.
  ///
  /// It can only end a prompt of an earlier connection if the history contains the prompt with an
  /// answer. On the prompt's own connection, a response also arrives.
  func complete(isCurrent: Bool) -> AttributedEnd? {
    guard let own, let text = own.spoken, !own.isHere, isCurrent, isSeen, others.isEmpty,
      ends.waiting.isEmpty
    else { return nil }
    return AttributedEnd(TurnEnd(result: .success(text: text)), of: own.key)
  }

  private mutating func attribute(_ end: TurnEnd, isCurrent: Bool) -> [AttributedEnd] {
    guard let own else {
      if !end.isReplay, !end.mayRepeat { close(before: end.id.flatMap { rows[$0]?.position }) }
      return [AttributedEnd(end)]
    }
    guard !end.isReplay || !own.isHere else { return [AttributedEnd(end)] }
    var open = Array(others.indices)
    // A prompt of an earlier connection may never have arrived, or its message may still be in
    // transit.
    var isProof = own.isHere || isCurrent && (own.isAccepted || own.count > 0 || end.isReplay)
    if let row = end.id.flatMap({ rows[$0] }), let position = row.position {
      // An answer always comes after its prompt.
      open.removeAll { (others[$0].position ?? 0) >= position }
      let isBehind = own.count > 0 ? (own.position ?? 0) < position : open.isEmpty
      if row.isOthers || position < own.floor || isCurrent && !isBehind {
        if let first = open.first { others.remove(at: first) }
        return [AttributedEnd(end)]
      }
      isProof = isProof && isBehind
    }
    // Identical text may belong to a new answer, which then appears in the history.
    if end.mayRepeat { isProof = isProof && end.text != nil && end.text == own.spoken }
    var end = end
    end.isDoubtful = !isProof
    ends.wait(end)
    let all = ends.takeAll(of: own.key, and: open.count)
    if !all.isEmpty { for index in open.reversed() { others.remove(at: index) } }
    return all
  }

  /// Attributes an end that belongs to no prompt of this client to the first turn that it can end.
  private mutating func close(before position: UInt64?) {
    let first = others.firstIndex { other in position.map { (other.position ?? 0) < $0 } ?? true }
    if let first { others.remove(at: first) }
  }
}

extension PromptEvidence: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      rows.count == order.count && max(rows.count, others.count) <= Self.rowLimit
        && echoes.count <= Self.echoLimit,
      "prompt evidence: it remembers no more than its limits")
  }
}
