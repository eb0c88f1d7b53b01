import Holdfast
import HoldfastCore
import HoldfastMessageServer
import HoldfastMessageStream
import HoldfastTestKit
import Testing

/// Tests of messages that the server removed for their size, with the whole client and the whole
/// backend.
@Suite(.timeLimit(.minutes(60))) struct ShopRetentionTests {
  @Test func `a phone that was away sees a gap where the server has removed messages`()
    async throws
  {
    var retention = RetentionPolicy()
    // About 20 messages, which are looked at often.
    (retention.bytes.usual, retention.sizeInterval) = (6_000, .milliseconds(20))
    let harness = try await StreamBackendHarness.make(retention: retention)
    try await harness.post(["old 1", "old 2"])
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive && $0.texts.contains("old 2") }
    await stream.whole()
    try await harness.proxy.set(.cut)
    await follower.wait { !$0.isLive }
    let missed = (1...60).map { "missed \($0)" }
    try await harness.post(missed)
    var page = try await harness.page(limit: 100)
    while page.oldest?.offset ?? 0 < 40 { page = try await harness.page(limit: 100) }
    let kept = page.messages.reversed().map(\.text)
    #expect(kept == missed.suffix(kept.count))
    #expect(kept.count < 25)
    try await harness.proxy.set(.pass)
    await follower.wait { $0.isLive && $0.texts.contains("missed 60") }
    await stream.whole()
    let model = await stream.snapshot
    let texts = model.timeline.messages.map(\.text)
    #expect(texts.prefix(2) == ["old 1", "old 2"], "nothing that the phone has is lost")
    #expect(texts.dropFirst(2) == missed.suffix(texts.count - 2), "all that follows is there")
    #expect(await follower.seen.gaps.count == 1)
    let gap = try #require(model.gaps.first)
    #expect(model.gaps.count == 1)
    #expect(gap.after?.id == model.timeline.messages[1].id)
    #expect(gap.before.id == model.timeline.messages[2].id)
    try await harness.post(["live"])
    await follower.wait { $0.texts.contains("live") }
    #expect(await follower.seen.gaps.count == 1)
    await stream.close()
    await harness.end()
  }
}
