import Holdfast
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastTestKit
import Testing

/// Tests of edits and deletions with the whole client and the whole backend.
@Suite(.timeLimit(.minutes(60))) struct ShopEventTests {
  /// Returns the ids of messages, which the follower has seen.
  private static func ids(_ texts: [String], _ follower: Follower) async throws -> [MessageID] {
    await follower.wait { seen in texts.allSatisfy(seen.texts.contains) }
    let seen = await follower.seen.messages.map(\.message)
    return try texts.map { text in try #require(seen.first { $0.text == text }).id }
  }

  @Test func `edits and deletions arrive over the socket`() async throws {
    let harness = try await StreamBackendHarness.make()
    try await harness.post(["one", "two", "three"])
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    let ids = try await Self.ids(["one", "two"], follower)
    try await harness.edit(ids[0], to: "new")
    try await harness.delete(ids[1])
    await follower.wait { !$0.edits.isEmpty && !$0.deletions.isEmpty }
    let seen = await follower.seen
    #expect(seen.edits.map(\.text) == ["new"] && seen.deletions.map(\.id) == [ids[1]])
    #expect(seen.edits.map(\.changed?.offset) == [4])
    let edit = try #require(seen.edits.first)
    #expect(try #require(edit.editDate) >= edit.date)
    #expect(seen.messages.allSatisfy { $0.message.editDate == nil })
    #expect(seen.deletions.map(\.changed?.offset) == [5])
    let model = await stream.snapshot
    #expect(model.timeline.messages.map(\.text) == ["new", "three"])
    await stream.close()
    await harness.end()
  }

  @Test func `a stream without real-time messaging polls, and is live again with it`() async throws
  {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    stream.setRealtime(false)
    await follower.wait { $0.statuses.last?.mode == .polling }
    try await harness.post("while polling")
    stream.setRealtime(true)
    await follower.wait { $0.isLive && $0.texts.contains("while polling") }
    await stream.close()
    await harness.end()
  }

  @Test func `edits and deletions that a lost link missed arrive with the next one`()
    async throws
  {
    let harness = try await StreamBackendHarness.make()
    try await harness.post(["one", "two", "three"])
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    let ids = try await Self.ids(["one", "two"], follower)
    try await harness.proxy.set(.cut)
    await follower.wait { !$0.isLive }
    try await harness.edit(ids[0], to: "newer")
    try await harness.edit(ids[0], to: "newest")
    try await harness.delete(ids[1])
    try await harness.post(["four"])
    try await harness.proxy.set(.pass)
    await follower.wait { $0.isLive && $0.texts.contains("four") && !$0.deletions.isEmpty }
    await stream.whole()
    let model = await stream.snapshot
    #expect(model.timeline.messages.map(\.text) == ["newest", "three", "four"])
    #expect(await follower.seen.deletions.map(\.id) == [ids[1]])
    await stream.close()
    await harness.end()
  }
}
