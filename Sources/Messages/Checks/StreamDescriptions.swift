import HoldfastCore
public import HoldfastLinkChecks
import HoldfastMessageData
import HoldfastMessageStream

extension StreamFeature {
  public static func describe(_ input: Input) -> TracePart { TraceText.cause(input) }

  public static func isWorth(_ input: Input, _ consequences: [TracePart]) -> Bool {
    TraceText.isWorth(input, consequences)
  }

  public static func describe(_ effect: Effect, isVerbose: Bool) -> TracePart? {
    TraceText.effect(effect, isVerbose: isVerbose)
  }

  public static func statusLabel(_ effect: Effect) -> String? {
    if case .update(.status(let status)) = effect { TraceText.status(status) } else { nil }
  }

  public static func describe(_ fact: Fact) -> [TracePart] {
    switch fact {
    case .stored(let change, let commit): [(.disk, TraceText.stored(change, commit))]
    case .accepted(let message, let isNew):
      [(.server, (isNew ? "accepts " : "knows already ") + TraceText.name(message))]
    case .admitted, .stated, .forgot: []
    case .images(let images):
      [
        (
          .server,
          "has \(TraceText.count(images.count, "image")), \(images.count { $0.message == nil }) unclaimed"
        )
      ]
    case .changed(.edited(let message)): [(.server, "changes \(TraceText.name(message))")]
    case .changed(.deleted(let deletion)):
      [(.server, "deletes the message at \(deletion.position)")]
    case .changed(.posted): []
    case .beganAnew(let head, let retained):
      [
        (
          .server,
          "begins anew as epoch \(head.epoch) with \(TraceText.count(retained.count, "message"))"
        )
      ]
    }
  }
}

extension TraceText {
  /// Returns whether a short trace includes an input.
  ///
  /// A short trace omits inputs that only confirm something, and inputs that their effects already
  /// describe.
  static func isWorth(_ input: StreamModel.Input, _ consequences: [TracePart]) -> Bool {
    switch input {
    case .link(.ping, at: _), .link(.pong, at: _), .committed: false
    case .frame(_, .message), .older, .link(.device(.lifecycle), at: _), .user, .reader:
      !consequences.isEmpty
    case .open, .close, .realtime, .refresh, .loadOlder, .send, .edit, .delete, .retry, .discard,
      .link, .credentials, .opened, .frame, .fetched, .fetchFailed, .posted, .edited, .deleted,
      .uploaded, .uploadRefused, .postFailed, .loaded, .loadFailed, .commitFailed, .olderFailed:
      true
    }
  }

  /// Returns the description of an input.
  static func cause(_ input: StreamModel.Input) -> TracePart {
    switch input {
    case .open: (.user, "opens the shop")
    case .close: (.user, "leaves the shop")
    case .realtime(let isOn): (.user, "switches real-time messages \(isOn ? "on" : "off")")
    case .refresh: (.user, "pulls to refresh")
    case .reader(let isBehind):
      (.user, isBehind ? "reads more slowly than messages come" : "reads on")
    case .loadOlder: (.user, "scrolls up")
    case .send(_, let text, _, _, _): (.user, "sends \(quoted(text))")
    case .edit(_, _, let text, _, _): (.user, "changes a message to \(quoted(text))")
    case .delete: (.user, "deletes a message")
    case .retry: (.user, "asks to send again")
    case .discard: (.user, "gives a message up")
    case .link(let event, _): cause(event)
    case .credentials(let event): (.phone, describe(event))
    case .user(let name): (.phone, "is signed in as \(name)")
    case .opened(let attempt, nil, _, _): connection(attempt, "is open")
    case .opened(let attempt, let head?, nil, _):
      connection(attempt, "is open, newest is \(head)")
    case .opened(let attempt, let head?, let after?, _):
      connection(attempt, "is open behind \(after), newest is \(head)")
    case .frame(let attempt, let frame): connection(attempt, "brings \(describe(frame))")
    case .fetched(let fetch, let page): answer(fetch, describe(page))
    case .fetchFailed(let fetch, let cause): answer(fetch, failure(cause))
    case .posted(_, let message): (.network, "the post is accepted: \(name(message))")
    case .edited: (.network, "the edit is accepted")
    case .deleted: (.network, "the deletion is accepted")
    case .uploaded: (.network, "the image is accepted")
    case .uploadRefused(_, _, let reason): (.network, "the image is refused: \(reason)")
    case .postFailed(_, _, let cause): (.network, "the post is answered with \(failure(cause))")
    case .loaded(let snapshot): (.disk, "gives back \(describe(snapshot))")
    case .loadFailed(let cause): (.disk, "cannot be read: \(failure(cause))")
    case .committed: (.disk, "has it")
    case .commitFailed(_, let cause): (.disk, "did not take it: \(failure(cause))")
    case .older(let messages): (.disk, "gives back \(count(messages.count, "older message"))")
    case .olderFailed(let cause): (.disk, "cannot read older messages: \(failure(cause))")
    }
  }

  private static func answer(_ fetch: FetchID, _ what: String) -> TracePart {
    (.network, "answer \(fetch.number): \(what)")
  }

  private static func describe(_ page: Page) -> String {
    count(page.messages.count, "message")
      + (page.messages.isEmpty ? "" : ": \(names(page.messages))")
      + (page.hasNext ? ", and there are more" : "")
      + (page.recovered ? "" : ", what lies before is not known")
  }

  private static func describe(_ snapshot: TimelineSnapshot) -> String {
    count(snapshot.messages.count, "message")
      + (snapshot.outbox.isEmpty ? "" : ", \(snapshot.outbox.count) to be sent")
  }

  private static func describe(_ frame: StreamModel.Frame) -> String {
    switch frame {
    case .message(let message): name(message)
    case .edited(let message): "an edit of \(name(message))"
    case .deleted(let deletion): "the deletion of the message at \(deletion.position)"
    case .draining(let time): "a notice: all will be closed within \(length(time))"
    case .unknown(let type): "something unknown (\(type))"
    case .malformed: "something that is not a message"
    }
  }

  /// Returns the description of an effect; `nil` if the trace describes the effect elsewhere or
  /// omits it.
  static func effect(_ effect: StreamModel.Effect, isVerbose: Bool) -> TracePart? {
    switch effect {
    case .open(let attempt, nil): (.app, "connects, as connection \(attempt.number)")
    case .open(let attempt, let after?):
      (.app, "connects behind \(after), as connection \(attempt.number)")
    case .close(let attempt, let reason):
      (.app, "closes connection \(attempt.number): \(reason)")
    case .ping(let attempt, _):
      isVerbose ? (.app, "pings on connection \(attempt.number)") : nil
    case .refreshCredentials: (.app, "asks for a new token")
    case .fetch(let fetch, let query):
      (.app, "asks (\(fetch.number)) for \(TraceText.query(query))")
    case .post(let entry, _): (.app, "posts \(quoted(entry.text))")
    case .upload(let entry, _): (.app, "uploads the image of \(quoted(entry.text))")
    case .load: (.app, "reads the stored data")
    case .commit(_, let change):
      isVerbose ? (.app, "gives the disk \(count(change.messages.count, "message"))") : nil
    case .readOlder(_, let limit): isVerbose ? (.app, "reads \(limit) older messages") : nil
    case .update(let update): TraceText.update(update)
    }
  }

  private static func update(_ update: StreamUpdate) -> TracePart? {
    switch update {
    case .status(let status): (.screen, TraceText.status(status))
    case .messages(let messages, let via): (.screen, "shows \(names(messages)), by \(via.rawValue)")
    case .edited(let messages): (.screen, "changes \(names(messages))")
    case .deleted(let deletions): (.screen, "removes \(count(deletions.count, "message"))")
    case .gap: (.screen, "shows a gap")
    case .gapClosed: (.screen, "a gap is closed")
    case .outbox(let entry): (.screen, outbox(entry))
    case .outboxDone(_, let message):
      (.screen, message == nil ? "forgets what was to be sent" : "shows it as sent")
    case .history(let hasMore): (.screen, hasMore ? "there is more above" : "is at the beginning")
    case .notice(let notice): (.screen, "notice: \(describe(notice))")
    }
  }

  private static func outbox(_ entry: OutboxEntry) -> String {
    switch entry.state {
    case .queued(0): "shows \(quoted(entry.text)) as waiting"
    case .queued(let tries): "shows \(quoted(entry.text)) as waiting after \(count(tries, "try"))"
    case .failed(let reason): "shows \(quoted(entry.text)) as not sent: \(reason)"
    }
  }

  private static func describe(_ notice: StreamNotice) -> String {
    switch notice {
    case .malformed: "something was no message"
    case .rejected(let count, _): "\(count) entries were no messages"
    case .unknownType(let type): "something unknown came (\(type))"
    case .oversized(let bytes): "\(bytes) bytes were too many"
    case .fetchFailed(let cause): "a page could not be fetched: \(failure(cause))"
    case .sendFailed(let cause): "a message could not be posted: \(failure(cause))"
    case .store(let cause): failure(cause)
    case .storeRecovered: "the store works again"
    case .draining(let time): "the server closes within \(length(time))"
    case .newEpoch(let position): "the server's log began anew, newest is \(position)"
    case .signIn: "the user must sign in"
    case .forbidden: "the user is no member"
    case .security: "somebody may be listening"
    }
  }
}

// Descriptions of the parts of a message stream.
extension TraceText {
  /// Returns a message's text and its position.
  static func name(_ message: ShopMessage) -> String {
    let location = message.position?.description ?? String(message.id.description.prefix(8))
    return "\(quoted(message.text)) (\(location))"
  }

  /// Returns the names of the first few messages and the total number.
  static func names(_ messages: [ShopMessage]) -> String {
    let first = messages.prefix(3).map(name).joined(separator: ", ")
    guard messages.count > 3, let last = messages.last else { return first }
    return messages.count == 4
      ? "\(first), \(name(last))" : "\(first), … \(name(last)), \(messages.count) in all"
  }

  /// Returns a server's time stamp as text.
  static func time(_ stamp: Timestamp) -> String { RFC3339.format(stamp) }

  static func status(_ status: StreamStatus) -> String {
    var label = status.state.rawValue
    if status.mode != .none { label += " (\(status.mode.rawValue))" }
    if status.attempt > 0 { label += " try \(status.attempt)" }
    if status.attempt > 0, let all = status.maxAttempts { label += " of \(all)" }
    return label + (status.reason.map { ": \(reason($0))" } ?? "")
  }

  static func query(_ query: PageQuery) -> String {
    switch query {
    case .page(let number, let limit): "page \(number) of \(limit), newest first"
    case .since(let stamp, let page, _): "what is newer than \(time(stamp)), page \(page)"
    case .after(let position, _): "what follows \(position)"
    case .before(let position, _): "what comes before \(position)"
    case .changes(let position, _): "what happened after \(position)"
    case .newest(let position, let limit):
      "page 1 of \(limit), newest first, and what happened after \(position) to older messages"
    case .beforeID: "what comes before a message"
    case .afterID: "what follows a message"
    }
  }

  static func stored(_ change: TimelineChange, _ commit: TimelineCommit) -> String {
    var parts: [String] = []
    if !change.messages.isEmpty {
      parts.append(
        "\(count(change.messages.count, "message")), \(commit.inserted.count) of them new")
    }
    if !commit.edited.isEmpty { parts.append(count(commit.edited.count, "edit")) }
    if !commit.deleted.isEmpty { parts.append(count(commit.deleted.count, "deletion")) }
    if let cursor = change.cursor {
      let location = cursor.position?.description ?? cursor.time.map(time) ?? "nothing"
      parts.append("cursor at \(location)")
    }
    if let gaps = change.gaps { parts.append(count(gaps.count, "gap")) }
    if !change.outboxPut.isEmpty { parts.append("\(change.outboxPut.count) to be sent") }
    if !change.outboxRemove.isEmpty {
      parts.append("\(change.outboxRemove.count) not to be sent any more")
    }
    return "keeps " + (parts.isEmpty ? "nothing new" : parts.joined(separator: ", "))
  }

  static func failure(_ failure: StoreFailure) -> String {
    switch failure {
    case .full: "the disk is full"
    case .locked: "the store is locked"
    case .corrupt: "the store is damaged"
    case .fromTheFuture: "the store is of a newer version"
    case .denied: "the store may not be used"
    case .other: "the store fails"
    }
  }
}
