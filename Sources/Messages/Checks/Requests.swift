import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageData
import HoldfastMessageStream

/// A checker that detects requests outside the socket that follow neither a cause nor a wait, and
/// requests after a terminal answer.
struct Requests: StreamChecker {
  private(set) var found = Findings()
  /// The unanswered requests for the first page of a series.
  private var questions: [(id: FetchID, query: PageQuery)] = []
  /// The most recently answered query.
  private var answered: PageQuery?
  /// The requests in the last minute that failed or returned nothing new, and the causes for
  /// requests in that time.
  private var vain = Minute()
  private var causes = Minute()
  /// Whether the user has requested older messages and is waiting for them.
  private var isReading = false
  /// Whether the link had ended before the current step, and there has been no cause for a request
  /// since.
  private var hasEnded = false

  /// The times of events in the last minute.
  private struct Minute: Sendable {
    private var times: [Instant] = []
    private var start = 0

    mutating func note(_ now: Instant) { times.append(now) }

    /// Returns the number of events in the minute before `now`.
    mutating func count(at now: Instant) -> Int {
      while start < times.count, times[start].duration(to: now) >= .seconds(60) { start += 1 }
      if start > 256 {
        times.removeFirst(start)
        start = 0
      }
      return times.count - start
    }
  }

  mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    if input.isCause {
      causes.note(facts.now)
      if StreamModel.role(of: input).attempt == nil { hasEnded = false }
    }
    if case .loadOlder = input { isReading = true }
    switch input {
    case .fetched(let id, let page):
      guard let query = forget(id) else { return }
      defer { answered = query }
      let disk = facts.own.disk
      let isOld = [page.messages.first, page.messages.last].allSatisfy { message in
        message.map { disk.messages[$0.id] != nil } ?? true
      }
      if isOld, !leadsOn(page, query), !leadsDown(page, query, disk, facts) { noteVain(facts) }
    case .fetchFailed(let id, _):
      if forget(id) != nil { noteVain(facts) }
    case .postFailed: noteVain(facts)
    case .open, .close, .realtime, .refresh, .reader, .user, .loadOlder, .send, .edit, .delete,
      .retry, .discard, .link, .credentials, .opened, .frame, .posted, .edited, .deleted,
      .uploaded, .uploadRefused, .loaded, .loadFailed, .committed, .commitFailed, .older,
      .olderFailed:
      return
    }
  }

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {
    switch effect {
    case .fetch(let id, let query):
      if query.isFirst { questions.append((id, query)) }
      if questions.count > 8 { questions.removeFirst() }
      if !isReading { checkEnd("a page was requested", facts) }
    case .post, .upload: checkEnd("a message was sent", facts)
    case .open: checkEnd("a connection was attempted", facts)
    case .refreshCredentials: checkEnd("credentials were refreshed", facts)
    case .update(.history): isReading = false
    case .close, .ping, .load, .commit, .readOlder, .update: return
    }
  }

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    guard case .launched = seen else { return }
    questions = []
    isReading = false
    hasEnded = false
  }

  mutating func stepEnded(_ facts: Facts) {
    hasEnded = facts.isAwake && facts.status.phase == .failed
  }

  private mutating func forget(_ id: FetchID) -> PageQuery? {
    guard let index = questions.firstIndex(where: { $0.id == id }) else { return nil }
    return questions.remove(at: index).query
  }

  /// Returns whether a page advances the cursor although all of its messages are stored.
  ///
  /// Messages that arrived out of order before a kill are read again page by page.
  private func leadsOn(_ page: Page, _ query: PageQuery) -> Bool {
    guard query != answered else { return false }
    switch query {
    case .after(let asked, _):
      return page.hasNext && page.messages.contains { $0.position?.offset ?? 0 > asked.offset }
    case .changes(let asked, _): return page.through?.offset ?? 0 > asked.offset
    case .newest(let asked, _): return page.changesThrough?.offset ?? 0 > asked.offset
    case .page, .since, .before, .beforeID, .afterID: return false
    }
  }

  /// Returns whether a page leads down through a gap to messages that are no longer in memory.
  ///
  /// The phone cannot know that these messages are stored.
  private func leadsDown(
    _ page: Page, _ query: PageQuery, _ disk: StoredTimeline, _ facts: Facts
  ) -> Bool {
    guard !disk.gaps.isEmpty, query != answered, case .before(let asked, _) = query,
      !page.messages.isEmpty
    else { return false }
    return page.messages.allSatisfy { message in
      message.position.map { $0.epoch == asked.epoch && $0.offset < asked.offset } ?? false
        && !disk.isNewest(message.key, of: facts.own.settings.memory)
    }
  }

  private mutating func noteVain(_ facts: Facts) {
    vain.note(facts.now)
    let bound = facts.own.settings.vainRequests + causes.count(at: facts.now)
    guard vain.count(at: facts.now) == bound + 1 else { return }
    found.add(.storm, at: facts.now, "more than \(bound) fruitless requests within a minute")
  }

  private mutating func checkEnd(_ what: @autoclosure () -> String, _ facts: Facts) {
    if hasEnded { found.add(.storm, at: facts.now, "\(what()) after a terminal answer") }
  }
}

extension StreamModel.Input {
  /// Whether the input is a reason to act that the client did not cause. It comes from a person,
  /// the device, or new credentials, or is a message that the server sends unprompted.
  var isCause: Bool {
    switch self {
    case .open, .close, .realtime, .refresh, .reader, .loadOlder, .send, .edit, .delete, .retry,
      .discard,
      .link(.device, at: _), .link(.oversized, at: _), .link(.lost, at: _), .credentials, .user,
      .opened, .frame:
      true
    case .link(.ping, at: _), .link(.pong, at: _), .fetched, .fetchFailed, .posted, .edited,
      .deleted, .uploaded, .uploadRefused, .postFailed, .loaded, .loadFailed,
      .committed, .commitFailed, .older, .olderFailed:
      false
    }
  }
}

extension PageQuery {
  /// Whether the query begins a series of pages rather than continuing one.
  fileprivate var isFirst: Bool {
    switch self {
    case .page(let number, _), .since(_, let number, _): number == 1
    case .after, .before, .changes, .newest, .beforeID, .afterID: true
    }
  }
}

extension StreamSettings {
  /// The number of requests within a minute that may fail or return nothing new without a cause.
  ///
  /// They are the requests of a catch-up, of a reader and of the outbox, each repeated after the
  /// shortest wait.
  var vainRequests: Int {
    let shortest = sendRetries.shortestWait(before: 0, atLeast: .seconds(1)) ?? .seconds(1)
    return 3 * 60 / Int(shortest.components.seconds)
  }
}
