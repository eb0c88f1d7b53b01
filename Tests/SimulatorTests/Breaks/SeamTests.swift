import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

struct SeamTests {
  private let settings = Facts.connected.own.settings
  private let one = AttemptID(1)

  private func pass(_ seam: inout StreamSeam, _ input: StreamModel.Input) -> [StreamModel.Input] {
    seam.inputs(input)
  }

  private static let since = StreamModel.Effect.fetch(
    FetchID(1), .since(Message.start, page: 1, limit: 100))
  private static let connected = StreamModel.Effect.update(
    .status(StreamStatus(LinkStatus(phase: .connected, mode: .live))))
  private static let page = Page(messages: [.number(1)], hasNext: true)

  @Test func `without a defect nothing changes`() {
    var seam = StreamSeam(nil)
    let commit = TimelineCommit(inserted: [Message.number(1).id])
    #expect(seam.settings(settings) == settings)
    #expect(pass(&seam, .lost(one, .reset)) == [.lost(one, .reset)])
    #expect(seam.effects(Self.since) == [Self.since])
    #expect(seam.stored(commit, of: TimelineChange(messages: [.number(2)])) == commit)
    #expect(!seam.acknowledgesEarly)
  }

  @Test func `no overlap is asked for`() {
    var seam = StreamSeam(.noOverlap)
    #expect(seam.settings(settings).overlap == .zero)
  }

  @Test func `the fetch after a connect says nothing, others do`() {
    var seam = StreamSeam(.noSecondFetch)
    _ = pass(&seam, .opened(one, head: nil))
    _ = seam.effects(Self.since)
    let answer = StreamModel.Input.fetched(FetchID(1), Self.page)
    #expect(pass(&seam, answer) == [.fetched(FetchID(1), Page(messages: [], hasNext: false))])
    _ = seam.effects(.fetch(FetchID(2), .since(Message.start, page: 1, limit: 100)))
    let other = StreamModel.Input.fetched(FetchID(2), Self.page)
    #expect(pass(&seam, other) == [other])
  }

  @Test func `frames pass by while a connection is caught up`() {
    var seam = StreamSeam(.noBuffer)
    let frame = StreamModel.Input.frame(one, .message(.number(1)))
    _ = seam.effects(Self.connected)
    #expect(pass(&seam, frame) == [frame])
    _ = seam.effects(Self.since)
    #expect(pass(&seam, frame) == [])
    _ = pass(&seam, .fetched(FetchID(1), Self.page))
    #expect(pass(&seam, frame) == [frame])
  }

  @Test func `the first page of a catch-up is the last, that of a reader is not`() {
    var seam = StreamSeam(.firstPageOnly)
    _ = seam.effects(Self.since)
    let first = Page(messages: [.number(1)], hasNext: false)
    #expect(pass(&seam, .fetched(FetchID(1), Self.page)) == [.fetched(FetchID(1), first)])
    _ = pass(&seam, .loadOlder)
    _ = seam.effects(.fetch(FetchID(2), .page(number: 1, limit: 50)))
    let older = StreamModel.Input.fetched(FetchID(2), Self.page)
    #expect(pass(&seam, older) == [older])
  }

  @Test(arguments: [StreamDefect.noSecondFetch, .noBuffer, .noOverlap, .firstPageOnly])
  func `the newest page, seen after a catch-up by time, says nothing`(_ defect: StreamDefect) {
    var seam = StreamSeam(defect)
    _ = seam.effects(Self.since)
    _ = pass(&seam, .fetched(FetchID(1), Page(messages: [], hasNext: false)))
    _ = seam.effects(.fetch(FetchID(2), .page(number: 1, limit: 50)))
    let nothing = Page(messages: [], hasNext: false)
    #expect(pass(&seam, .fetched(FetchID(2), Self.page)) == [.fetched(FetchID(2), nothing)])
    _ = seam.effects(.fetch(FetchID(3), .page(number: 2, limit: 50)))
    _ = pass(&seam, .loadOlder)
    _ = seam.effects(.fetch(FetchID(4), .page(number: 2, limit: 50)))
    let older = StreamModel.Input.fetched(FetchID(4), Self.page)
    #expect(pass(&seam, older) == [older])
  }

  @Test func `a launch shows its screen and remembers its top only`() {
    var seam = StreamSeam(.forgetsIDs)
    _ = seam.settings(settings)
    let all = [Message.number(1), .number(2)]
    let top = TimelineSnapshot(messages: [all[0]])
    #expect(pass(&seam, .loaded(TimelineSnapshot(messages: all))) == [.loaded(top)])
    #expect(
      seam.effects(.update(.messages([all[0]], via: .history)))
        == [.update(.messages(all, via: .history))])
    let commit = seam.stored(TimelineCommit(), of: TimelineChange(messages: all.reversed()))
    #expect(commit == TimelineCommit(inserted: all.map(\.id)))
  }

  @Test func `each try has a key of its own, and its answer finds back`() {
    var seam = StreamSeam(.noIdempotencyKey)
    let entry = OutboxEntry.number(1)
    let keys = (1...2).flatMap { _ in seam.effects(.post(entry, try: TryID(1))) }.compactMap {
      effect in
      if case .post(let sent, _) = effect { sent.id } else { nil }
    }
    #expect(Set(keys + [entry.id]).count == 3)
    for key in keys {
      #expect(
        pass(&seam, .postFailed(key, try: TryID(1), .reset)) == [
          .postFailed(entry.id, try: TryID(1), .reset)
        ])
    }
  }

  @Test func `positions of a new log look like those of the old one`() {
    var seam = StreamSeam(.ignoresEpoch)
    let old = Position(epoch: "a", offset: 9)
    _ = pass(&seam, .opened(one, head: old))
    let new = Position(epoch: "b", offset: 3)
    let hidden = Position(epoch: "a", offset: 3)
    #expect(pass(&seam, .opened(one, head: new)) == [.opened(one, head: hidden)])
    #expect(
      seam.effects(.fetch(FetchID(1), .after(old, limit: 100)))
        == [.fetch(FetchID(1), .after(Position(epoch: "b", offset: 9), limit: 100))])
    let page = Page(messages: [], hasNext: false, head: new, recovered: false)
    let whole = Page(messages: [], hasNext: false, head: hidden)
    #expect(pass(&seam, .fetched(FetchID(1), page)) == [.fetched(FetchID(1), whole)])
  }

  @Test func `the world is told what only it can do`() {
    #expect(StreamSeam(.showsBeforeStored).acknowledgesEarly)
  }
}
