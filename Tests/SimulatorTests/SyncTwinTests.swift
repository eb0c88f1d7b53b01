import HealthSync
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire
import Testing

@testable import LinkSimulator

/// The second accounts of health sync: each of them can find a fault.
@Suite struct SyncTwinTests {
  private static let body = Array(
    (#"{"dataType":"x","records":[{"recordType":"a","sourceName":"b","value":1,"#
      + #""startTime":"2026-01-31T08:30:00Z","endTime":"2026-01-31T08:30:00Z","#
      + #""uuid":"00000000-0000-0000-0000-00000000000A"}],"timestamp":"2026-01-31T09:00:00Z"}"#)
      .utf8)

  @Test func `a queue with another batch differs from its ledger`() {
    var (queue, ledger) = (KeptSyncQueue(), SyncLedger())
    let steps: [SyncQueueStep] = [
      .ask(["a"]), .anchor(type: "a", HealthAnchor([1])), .stamp(Timestamp(nanoseconds: 5)),
      .add(
        QueuedBatch(file: "f", type: "a", place: 1, records: 1, deletions: 0, bytes: 1)),
    ]
    for step in steps {
      ledger.apply(step)
      #expect(ledger.difference(from: queue) != nil)
      queue.apply(step)
      #expect(ledger.difference(from: queue) == nil)
    }
  }

  @Test func `a store without a sample differs from its stock`() throws {
    let reading = try SyncReading.read(Self.body)
    let parcel = try #require(SyncParcel(Self.body))
    var (kept, stock) = (KeptSync(), SyncStock())
    let must = stock.apply(parcel, of: "a")
    #expect(must == SyncTally(records: 1))
    #expect(stock.difference(from: kept, of: "a") != nil)
    let delivery = SyncDelivery(of: reading, user: "a", hash: SyncHash.folded)
    #expect(kept.apply(delivery) == must)
    #expect(stock.difference(from: kept, of: "a") == nil)
    #expect(stock.apply(parcel, of: "a") == SyncTally(skippedDuplicates: 1))
  }

  @Test func `a batch that is read otherwise differs from its parcel`() throws {
    let parcel = SyncParcel(Self.body)
    var reading = try SyncReading.read(Self.body)
    var delivery = SyncDelivery(of: reading, user: "a", hash: SyncHash.folded)
    #expect(SyncParcel.difference(parcel, reading, delivery) == nil)
    #expect(SyncParcel.difference(parcel, nil, nil) != nil)
    #expect(SyncParcel.difference(nil, reading, delivery) != nil)
    delivery.samples[0].end = delivery.samples[0].end.advanced(by: .seconds(1))
    #expect(SyncParcel.difference(parcel, reading, delivery) != nil)
    reading.batch.deviceID = "another"
    #expect(SyncParcel.difference(parcel, reading, delivery) != nil)
  }

  @Test func `a phone that asks for less differs from its twin`() {
    let policy = LinkPolicy.healthSync
    var model = SyncModel(SyncSettings(policy: policy), seed: 1)
    var twin = SyncTwin(policy, depth: 1, seed: 1)
    let queue = KeptSyncQueue(
      asked: ["a"], types: [], batches: [], stamp: Timestamp(nanoseconds: 0))
    let input = SyncModel.Input.restored(queue, running: [], missing: [])
    let effects = model.handle(input, at: .zero)
    var other = twin
    #expect(other.stray(of: model, after: input, effects.dropLast(), at: .zero) != nil)
    #expect(twin.stray(of: model, after: input, effects, at: .zero) == nil)
    // A model that took a step which its twin did not see has another deadline.
    _ = model.handle(.fired(["a"], WakeID(1), budget: .seconds(9)), at: .zero)
    #expect(twin.stray(of: model, after: .conditions(SyncConditions()), [], at: .zero) != nil)
  }

  @Test func `a phone to which anything happens does what its twin does`() {
    for seed in UInt64(0)..<40 {
      var walk = SyncPhoneWalk(Chance(seed: seed))
      #expect(walk.walk(300) == nil, "seed \(seed)")
    }
  }

  @Test func `words of any form are read and written as their twins do`() {
    for seed in UInt64(0)..<40 {
      var walk = SyncWireWalk(Chance(seed: seed))
      #expect(walk.walk(1) == nil, "seed \(seed)")
    }
  }

  @Test func `a walk finds a phone that took a step of its own`() throws {
    let queue = KeptSyncQueue(
      asked: ["a"], types: [], batches: [], stamp: Timestamp(nanoseconds: 0))
    let beginning = SyncModel.Input.restored(queue, running: [], missing: [])
    let stray = try SyncPhoneWalk.finding { walk in
      walk.give(beginning)
      #expect(walk.stray == nil)
      _ = walk.model.handle(.fired(["a"], WakeID(1), budget: .seconds(9)), at: .zero)
      walk.give(.conditions(SyncConditions()))
    }
    #expect(stray?.hasPrefix("the phone ") == true)
  }

  @Test func `a walk finds a store with a sample of its own`() throws {
    let text = String(decoding: Self.body, as: UTF8.self).replacing(
      "2026-01-31T08", with: "1999-01-31T08")
    let reading = try SyncReading.read(Array(text.utf8))
    let stray = try SyncWireWalk.finding { walk in
      _ = walk.kept.apply(SyncDelivery(of: reading, user: "a", hash: SyncHash.folded))
      walk.stray = walk.walk(1)
    }
    #expect(stray == "the store has other samples of a")
  }

  @Test func `an upload in other pieces differs from its twin`() {
    let upload = ResumableUpload(size: 10, UploadOffer(.tus, maxAppend: 4), url: nil)
    let twin = SyncCourseTwin(0, 10, piece: 4, most: nil, url: nil)
    #expect(upload.step == twin.step)
    var (one, two) = (upload, SyncCourseTwin(0, 10, piece: 5, most: nil, url: nil))
    let reply = UploadReply(201, UploadFields(.tus), url: "http://a/b")
    #expect(one.take(reply) == two.take(reply))
    #expect(one.step != two.step)
  }
}
