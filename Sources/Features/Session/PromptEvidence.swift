import LinkCore
import LinkStorage
import LinkWire

/// What a server without keys has shown of the turns of one conversation, and what that proves.
///
/// Messages are told apart by their ids and ordered by their places. A message of the user with a
/// prompt's words behind its floor proves that the server has the prompt; the end of a turn ends
/// the prompt if no other turn can have ended by it. What proves nothing changes nothing: the
/// prompt waits for another sign, and its end is unknown if none comes.
struct PromptEvidence: Sendable, Hashable {
  /// A message of the history.
  private struct Row: Sendable, Hashable {
    var place: UInt64?
    /// Whether it repeats words that were shown under another id.
    var isRepetition = false
    /// Whether a prompt of another client stands before it, and that of this one does not.
    var isOthers = false
  }

  /// The prompt of this client that is under way.
  private struct Own: Sendable, Hashable {
    let key: UUID128
    let text: String
    /// The first place that its message can have.
    var floor: UInt64
    /// Whether the server acknowledged it.
    var isAccepted: Bool
    /// Whether it was handed to the present connection.
    var isHere: Bool
    /// How many messages have its words, and the place of the last one.
    var count = 0
    var place: UInt64?
    /// The last text of the assistant behind it.
    var spoken: String?
    /// Whether something came that may be its end, and proves nothing.
    var isDoubtful = false
  }

  /// A turn of another client, or of a prompt that was given up.
  private struct Other: Sendable, Hashable {
    var place: UInt64?
    var isSpoken = false
    /// When the server last showed something of it.
    var sign: Instant
  }

  /// Words that the history repeats, under this id or another one.
  private struct Echo: Sendable, Hashable {
    var role: SessionRole
    var text: String
    var id: String?
  }

  /// The silence after which a turn counts as over.
  private let timeout: Duration
  private var own: Own?
  private var others: [Other] = []
  private var rows: [String: Row] = [:]
  /// The ids of `rows`, oldest first.
  private var order: [String] = []
  private var echoes: [Echo] = []
  private var ends = TurnEnds()
  /// As `KnownConversation` has it.
  private(set) var lastEnd: String?
  /// Whether `echoes` has the words of the prompt that it ended.
  private var knowsLast = false
  /// Whether messages are missing that may be of the prompt.
  private var hasHole = false
  /// Whether everything that the server had of the conversation was here once.
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

  /// The prompt under way.
  var key: UUID128? { own?.key }

  /// Whether the history shows the prompt.
  var isSeen: Bool {
    guard let own else { return false }
    return own.count > repeated(own.text) && (lastEnd == nil || knowsLast)
  }

  /// The first place that the prompt's message can have, or the answer of one that is seen.
  var floor: UInt64? { isSeen ? own?.place.map { $0 + 1 } ?? own?.floor : own?.floor }

  /// Whether the server may have the prompt, as far as it has shown.
  var mayBeThere: Bool { hasHole || (own?.count ?? 0) > 0 || !ends.waiting.isEmpty }

  /// The number of other turns that no text of the assistant follows.
  var openTurns: Int { others.count { !$0.isSpoken } }

  /// The state of the prompt under way and of the turns around it.
  ///
  /// One copy, since the optimizer of Swift 6.3.1 fails where the evidence is read between changes.
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

  /// How long the prompt is waited for without another sign.
  var patience: Duration {
    let mayBeOver =
      own.map { $0.isDoubtful || !$0.isHere && $0.spoken != nil } ?? false
      || !ends.waiting.isEmpty
    return mayBeOver ? quiet : timeout
  }

  private var quiet: Duration { min(SessionSettings.quietTime, timeout) }

  /// Whether a message ended a turn before.
  func hasEnded(by id: String?) -> Bool { ends.contains(id) }

  /// Whether an answer was shown as a message of the history, under another id.
  func hasShown(_ text: String, as id: String?) -> Bool {
    own?.spoken == text && id.flatMap { rows[$0] } == nil
  }

  /// Whether a message of the history repeats words that were shown.
  func isRepetition(_ entry: SessionEntry) -> Bool { rows[entry.id]?.isRepetition ?? false }

  /// How many earlier prompts with these words the history has not shown.
  private func repeated(_ text: String) -> Int {
    echoes.count { $0.role == .user && $0.text == text }
  }

  // MARK: Prompts

  /// A prompt is under way from now on.
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
      own.place = own.floor > 0 ? own.floor - 1 : nil
    }
    (self.own, hasHole) = (own, false)
  }

  /// The server acknowledged the prompt.
  mutating func accept(_ key: UUID128) {
    guard own?.key == key else { return }
    own?.isAccepted = true
    // What came before that was of something else.
    own?.isDoubtful = false
  }

  /// Takes a refusal that names no prompt; false if it may be an earlier one that comes again.
  mutating func refuse(_ error: String) -> Bool {
    ends.note(TurnEnd(result: .failure(error: error)))?.mayRepeat == false
  }

  /// The connection is gone.
  mutating func lose() {
    own?.isHere = false
    ends.lose()
  }

  /// What the store must know as `lastEnd` when a message ends the prompt.
  func lastEnd(by id: String?) -> String? { own == nil ? lastEnd : isSeen ? nil : id ?? "" }

  /// The prompt has ended, which is stored; or the user forgot it.
  mutating func finish(by id: String?) {
    guard let own else { return }
    lastEnd = lastEnd(by: id)
    knowsLast = lastEnd != nil
    if knowsLast { remember(Echo(role: .user, text: own.text)) }
    (self.own, hasHole) = (nil, false)
  }

  /// The prompt is waited for no more: its turn may be over, or not. Returns the ends that waited.
  mutating func giveUp(at now: Instant) -> [TurnEnd] {
    if let own {
      // One with a text behind it was silent for long enough to be over.
      let isSpoken = own.spoken != nil
      let sign = isSpoken ? now.advanced(by: .zero - patience) : now
      add(Other(place: own.place, isSpoken: isSpoken, sign: sign))
    }
    let waiting = ends.takeWaiting()
    // As many turns are over as ends came, whichever they are.
    others.removeLast(min(others.count, waiting.count { !$0.isDoubtful }))
    return waiting
  }

  /// Something came that may be the prompt's end.
  mutating func doubt() { own?.isDoubtful = true }

  /// Notes an answer that was shown, which the history repeats.
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

  /// Messages are missing; behind a reset the places of before mean nothing.
  mutating func skip(isReset: Bool) {
    hasHole = true
    guard isReset else { return }
    others = []
    for id in order { rows[id]?.place = nil }
    own?.floor = 0
    own?.place = nil
  }

  /// Takes a message that is new at its place; returns whether it repeats words that were shown.
  mutating func take(_ entry: SessionEntry, at now: Instant) -> Bool {
    guard rows[entry.id] == nil else { return isRepetition(entry) }
    var row = Row(place: entry.place)
    switch entry.role {
    case .user: row.isRepetition = asked(entry, at: now)
    case .assistant:
      row.isOthers = own?.count ?? 0 == 0 && !others.isEmpty
      row.isRepetition = spoke(entry, at: now)
    case .system: break
    }
    rows[entry.id] = row
    order.append(entry.id)
    if order.count > Self.rowLimit { rows[order.removeFirst()] = nil }
    return row.isRepetition
  }

  private mutating func asked(_ entry: SessionEntry, at now: Instant) -> Bool {
    if let own, own.text == entry.text, entry.place ?? own.floor >= own.floor {
      self.own?.count += 1
      self.own?.place = entry.place
      self.own?.spoken = nil
      return true
    }
    if let index = echoes.firstIndex(where: { $0.role == .user && $0.text == entry.text }) {
      echoes.remove(at: index)
      // The last of them is here: a later message is of no earlier prompt.
      if knowsLast, !echoes.contains(where: { $0.role == .user }) { lastEnd = nil }
      return true
    }
    add(Other(place: entry.place, sign: now))
    return false
  }

  private mutating func add(_ other: Other) {
    others.append(other)
    if others.count > Self.rowLimit { others.removeFirst() }
  }

  private mutating func spoke(_ entry: SessionEntry, at now: Instant) -> Bool {
    if entry.id == lastEnd { pass(entry.place) }
    let index =
      echoes.firstIndex { $0.id == entry.id }
      ?? echoes.firstIndex { $0.role == .assistant && $0.text == entry.text }
    let echo = index.map { echoes.remove(at: $0) }
    // What was said before this client came is over; later it may be a word in between.
    if !wasCurrent { others = [] }
    for index in others.indices { (others[index].isSpoken, others[index].sign) = (true, now) }
    if let own, own.count > 0, echo == nil { self.own?.spoken = entry.text }
    return echo.map { $0.id != entry.id } ?? false
  }

  /// The history shows the end of an earlier prompt: what stands before that is of no later one.
  private mutating func pass(_ place: UInt64?) {
    (lastEnd, knowsLast) = (nil, false)
    echoes.removeAll { $0.role == .user }
    others = []
    guard var own else { return }
    (own.count, own.place, own.spoken) = (0, nil, nil)
    if let place { own.floor = max(own.floor, place + 1) }
    self.own = own
  }

  // MARK: Ends of turns

  /// Takes the end of a turn; returns the ends of which it is known now whose they are.
  ///
  /// - Parameter isCurrent: Whether everything that the server had of the conversation is here.
  mutating func take(_ end: TurnEnd, isCurrent: Bool) -> [AttributedEnd] {
    guard let end = ends.note(end) else { return [AttributedEnd(end)] }
    return attribute(end, isCurrent: isCurrent)
  }

  /// Looks again whose the ends are that wait, since the history has shown more.
  mutating func settle(isCurrent: Bool) -> [AttributedEnd] {
    wasCurrent = wasCurrent || isCurrent
    return ends.takeWaiting().flatMap { attribute($0, isCurrent: isCurrent) }
  }

  /// Takes the end of a turn that names no message: it ends a prompt of an earlier connection that
  /// the history shows with an answer, and no other. On its own connection a response comes too.
  func complete(isCurrent: Bool) -> AttributedEnd? {
    guard let own, let text = own.spoken, !own.isHere, isCurrent, isSeen, others.isEmpty,
      ends.waiting.isEmpty
    else { return nil }
    return AttributedEnd(TurnEnd(result: .success(text: text)), of: own.key)
  }

  private mutating func attribute(_ end: TurnEnd, isCurrent: Bool) -> [AttributedEnd] {
    guard let own else {
      if !end.isReplay, !end.mayRepeat { close(before: end.id.flatMap { rows[$0]?.place }) }
      return [AttributedEnd(end)]
    }
    guard !end.isReplay || !own.isHere else { return [AttributedEnd(end)] }
    var open = Array(others.indices)
    // A prompt of an earlier connection may never have arrived, and its message may be on its way.
    var isProof = own.isHere || isCurrent && (own.isAccepted || own.count > 0 || end.isReplay)
    if let row = end.id.flatMap({ rows[$0] }), let place = row.place {
      // An answer stands behind its prompt.
      open.removeAll { (others[$0].place ?? 0) >= place }
      let isBehind = own.count > 0 ? (own.place ?? 0) < place : open.isEmpty
      if row.isOthers || place < own.floor || isCurrent && !isBehind {
        if let first = open.first { others.remove(at: first) }
        return [AttributedEnd(end)]
      }
      isProof = isProof && isBehind
    }
    // The same words may be new, which the history shows.
    if end.mayRepeat { isProof = isProof && end.text != nil && end.text == own.spoken }
    var end = end
    end.isDoubtful = !isProof
    ends.wait(end)
    let all = ends.takeAll(of: own.key, and: open.count)
    if !all.isEmpty { for index in open.reversed() { others.remove(at: index) } }
    return all
  }

  /// An end that is of no prompt of this client is that of the first turn that can have ended so.
  private mutating func close(before place: UInt64?) {
    let first = others.firstIndex { other in place.map { (other.place ?? 0) < $0 } ?? true }
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
