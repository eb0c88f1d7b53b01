extension MovedTable {
  /// The epoch of the store.
  package static let syncEpoch = MovedTable("sync epoch", [.text("epoch")], isSingle: true)
  /// The samples. `lasted`, `distance` and `energy` are those of a workout, `uuids` is the number of
  /// UUIDs, and `raw` the record as it was sent.
  package static let samples = MovedTable(
    "samples",
    [
      .numbered("user"), .numbered("type"), .integer("start"), .bytes("hash"),
      .integer("duration"), .numbered("source"), .numbered("unit"), .real("quantity"),
      .numbered("text"), .integer("lasted"), .real("distance"), .real("energy"),
      .integer("uuids"), .bytes("raw"),
    ])
  /// The UUIDs, with type, start and key of their samples, and the times of their newest assignments
  /// or deletions.
  package static let identities = MovedTable(
    "sample UUIDs",
    [
      .numbered("user"), .uuid("uuid"), .numbered("type"), .integer("start"), .uuid("key"),
      .integer("named"),
    ])
  /// The types of a user, with the first and the last start, and the longest duration.
  package static let sampleTypes = MovedTable(
    "sample types",
    [
      .numbered("user"), .numbered("type"), .integer("count"), .integer("first"),
      .integer("last"), .integer("longest"),
    ])
  package static let sampleSources = MovedTable(
    "sample sources",
    [.numbered("user"), .numbered("type"), .numbered("source"), .integer("count")])
  /// The newest stamp of each device, and its latest effective time.
  package static let devices = MovedTable("sync devices", stampColumns)
  /// The stamps of each device, and their effective times.
  package static let stamps = MovedTable("sync stamps", stampColumns)

  private static let stampColumns: [Column] = [
    .numbered("user"), .numbered("device"), .integer("made"), .integer("counts"),
  ]

  /// The tables of synced samples.
  package static let syncTables = [
    syncEpoch, samples, identities, sampleTypes, sampleSources, devices, stamps,
  ]
}
