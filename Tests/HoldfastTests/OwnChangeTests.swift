import Holdfast
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastMessageStream
import HoldfastTestKit
import Testing

/// Tests of `ShopStream.edit` and `ShopStream.delete` with a whole backend, also as a plain server.
@Suite(.timeLimit(.minutes(60))) struct OwnChangeTests {
  private static let dialects: [ShopServerPolicy.Dialect] = [.positions, .plain]

  private static func harness(
    _ dialect: ShopServerPolicy.Dialect
  ) async throws -> StreamBackendHarness {
    var policy = ShopServerPolicy()
    policy.dialect = dialect
    return try await StreamBackendHarness.make(policy: policy)
  }

  private static func texts(_ stream: ShopStream) async -> [String] {
    await stream.snapshot.timeline.messages.map(\.text)
  }

  @Test(arguments: dialects)
  func `an edit and a deletion end when this device has stored them`(
    dialect: ShopServerPolicy.Dialect
  ) async throws {
    let harness = try await Self.harness(dialect)
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    let (first, second) = (try await stream.send("one"), try await stream.send("two"))
    await follower.wait { $0.texts.contains("two") }
    try await stream.edit(first, text: "uno")
    #expect(await Self.texts(stream) == ["uno", "two"])
    try await stream.delete(second)
    #expect(await Self.texts(stream) == ["uno"])
    // A deletion that is repeated succeeds, and an edit says that the message is gone.
    try await stream.delete(second)
    let gone = await #expect(throws: SendError.self) { try await stream.edit(second, text: "x") }
    #expect(gone?.reason == .deleted)
    let seen = await follower.seen
    #expect(seen.edits.last?.text == "uno" && seen.deletions.map(\.id).contains(second))
    stream.refresh()
    await stream.whole()
    #expect(await Self.texts(stream) == ["uno"])
    await stream.close()
    await harness.end()
  }

  @Test(arguments: dialects)
  func `a refusal gives the server's reason, and the stream goes on`(
    dialect: ShopServerPolicy.Dialect
  ) async throws {
    let harness = try await Self.harness(dialect)
    try await harness.post(["theirs"])
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive && $0.texts.contains("theirs") }
    let id = try #require(await follower.seen.messages.first).message.id
    let edit = await #expect(throws: SendError.self) { try await stream.edit(id, text: "mine") }
    #expect(edit?.description.contains("only the author can edit a message") == true)
    let deletion = await #expect(throws: SendError.self) { try await stream.delete(id) }
    #expect(deletion?.description.contains("only the author and admins of the shop") == true)
    let empty = await #expect(throws: SendError.self) { try await stream.edit(id, text: "") }
    #expect(empty?.reason == .refused(.local(detail: "it is empty")))
    #expect(await Self.texts(stream) == ["theirs"])
    for error in [edit, deletion] { if let error { stream.discard(error.id) } }
    _ = try await stream.send("still here")
    #expect(await stream.snapshot.outbox.entries == [])
    await stream.close()
    await harness.end()
  }

  @Test(arguments: dialects)
  func `changes made offline are shown by the overlay, survive a launch and are sent later`(
    dialect: ShopServerPolicy.Dialect
  ) async throws {
    let harness = try await Self.harness(dialect)
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    let (first, second) = (try await stream.send("one"), try await stream.send("two"))
    await follower.wait { $0.texts.contains("two") }
    harness.reachability.change(to: .unreachable)
    stream.enqueueEdit(first, "uno")
    stream.enqueueDeletion(second)
    await follower.wait { $0.outbox.contains { $0.action == .delete(second) } }
    var pending = PendingChanges()
    for update in await follower.updates { pending.take(update) }
    let messages = await stream.snapshot.timeline.messages
    #expect(messages.map(\.text) == ["one", "two"])
    #expect(messages.compactMap(pending.shown).map(\.text) == ["uno"])
    await stream.close()
    let (next, later) = try await harness.follow()
    await later.wait { $0.outbox.count == 2 }
    harness.reachability.change(to: .reachable(path: PathID("a")))
    await later.wait { $0.sent.count == 2 }
    #expect(await Self.texts(next) == ["uno"])
    #expect(await next.snapshot.outbox.entries == [])
    await next.close()
    await harness.end()
  }

  @Test func `edits of deleted messages fail without a request, those of unknown ones with it`()
    async throws
  {
    let harness = try await Self.harness(.positions)
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    let id = try await stream.send("one")
    try await stream.delete(id)
    harness.reachability.change(to: .unreachable)
    let gone = await #expect(throws: SendError.self) { try await stream.edit(id, text: "x") }
    #expect(gone?.reason == .deleted)
    #expect(await stream.snapshot.outbox.entries == [])
    harness.reachability.change(to: .reachable(path: PathID("a")))
    let unknown = MessageID.random()
    let edit = await #expect(throws: SendError.self) {
      try await stream.edit(unknown, text: "x", images: .remove)
    }
    let deletion = await #expect(throws: SendError.self) { try await stream.delete(unknown) }
    #expect(edit?.reason == .unknown && deletion?.reason == .unknown)
    #expect(await stream.snapshot.outbox.entries == [])
    await stream.close()
    await harness.end()
  }

  @Test(arguments: dialects)
  func `a lost answer makes no second event`(dialect: ShopServerPolicy.Dialect) async throws {
    let harness = try await Self.harness(dialect)
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    let id = try await stream.send("one")
    try await harness.proxy.set(.blackhole(Blackhole(reach: .down, fate: .swallowed)))
    let edit = Task { try await stream.edit(id, text: "uno") }
    await follower.wait { $0.outbox.contains { $0.action == .edit(id) } }
    await follower.wait { !$0.isLive }
    try await harness.proxy.set(.cut)
    try await harness.proxy.set(.pass)
    try await edit.value
    #expect(await Self.texts(stream) == ["uno"])
    let changed = await stream.snapshot.timeline.messages.last?.changed?.offset
    #expect(changed == (dialect == .plain ? nil : 2))
    await stream.close()
    await harness.end()
  }
}
