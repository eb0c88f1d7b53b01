extension MovedTable {
  /// The epoch of the store.
  package static let syncEpoch = MovedTable("sync epoch", [.text], isSingle: true)
  /// User, type, start, hash, duration, source, unit, quantity, text, duration of a workout, its
  /// distance and energy, number of UUIDs, and the record as it was sent.
  package static let samples = MovedTable(
    "samples",
    [
      .text, .text, .integer, .bytes, .integer, .text, .text, .real, .text, .integer, .real, .real,
      .integer, .bytes,
    ])
  /// User, UUID; type, start and key of its sample; and the time of its newest assignment or deletion.
  package static let identities = MovedTable(
    "sample UUIDs", [.text, .uuid, .text, .integer, .uuid, .integer])
  /// User, type, count, first and last start, and longest duration.
  package static let sampleTypes = MovedTable(
    "sample types", [.text, .text, .integer, .integer, .integer, .integer])
  /// User, type, source and count.
  package static let sampleSources = MovedTable(
    "sample sources", [.text, .text, .text, .integer])
  /// User, device, newest stamp and latest effective time.
  package static let devices = MovedTable(
    "sync devices", [.text, .text, .integer, .integer])
  /// User, device, stamp and its effective time.
  package static let stamps = MovedTable("sync stamps", [.text, .text, .integer, .integer])

  /// The tables of synced samples.
  package static let syncTables = [
    syncEpoch, samples, identities, sampleTypes, sampleSources, devices, stamps,
  ]
}
