import HoldfastCore
import HoldfastProtocols
import HoldfastSyncData
import HoldfastUploads

/// The properties of the batches that phones sync, plain or compressed, and of the replies to them.
enum SyncProperty {
  /// The maximum size of a decompressed body, in bytes.
  private static let limit = 65_536

  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let kind = choices.byte() % 4
    let text = Array(choices.rest)
    switch kind {
    case 0: try reply(text)
    case 1:
      guard let body = try? GzipBody.inflate(text, atMost: limit) else { return }
      try hold(body.count <= limit, "a body is not longer than its bound")
    case _: try batch(text)
    }
  }

  private static func batch(_ text: [UInt8]) throws(Broken) {
    guard let reading = try? SyncReading.read(text) else { return }
    let batch = reading.batch
    try hold((try? .read(batch.bytes)) == batch, "a batch that was read can be written")
    try hold(
      reading.recordRanges.count == batch.records?.count ?? 0
        && reading.workoutRanges.count == batch.workouts?.count ?? 0,
      "each record has its bytes")
    let delivery = SyncDelivery(of: reading, user: "u") { SyncHash(words: fold($0)) }
    var stored = StoredSync()
    let first = stored.apply(delivery)
    try hold(
      first.records + first.workouts + first.skippedDuplicates + first.refused
        == delivery.samples.count, "each sample is new, a duplicate or refused")
    for sample in delivery.samples {
      try hold(sample.end >= sample.start, "no sample ends before it begins")
    }
    // If a batch deletes its own samples, its repetition adds them again.
    guard delivery.deleted.isEmpty else { return }
    let again = stored.apply(delivery)
    try hold(
      again == IngestCounts(skippedDuplicates: delivery.samples.count) || hasMovedUUID(delivery),
      "a repeated batch adds nothing")
  }

  /// Returns whether different samples have the same UUID. The last of them keeps it.
  private static func hasMovedUUID(_ delivery: SyncDelivery) -> Bool {
    let named = delivery.samples.filter { $0.uuid != nil }
    let pairs = Set(named.map { "\($0.uuid as Any)-\($0.hash.bytes)" })
    return Set(named.map(\.uuid)).count != pairs.count
  }

  private static func fold(_ text: [UInt8]) -> SIMD4<UInt64> {
    var words = SIMD4<UInt64>(1, 2, 3, 4)
    for (index, byte) in text.enumerated() {
      words[index % 4] = (words[index % 4] ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    return words
  }

  private static func reply(_ text: [UInt8]) throws(Broken) {
    if let counts = try? IngestCounts.read(text) {
      try hold((try? .read(counts.bytes)) == counts, "counts that were read can be written")
    }
    let reason = SyncReply.reason(of: text)
    try hold((reason?.unicodeScalars.count ?? 0) <= 1_000, "a reason is bounded")
  }
}
