@testable import HoldfastOperators

/// The properties of the first and the last member of a backup.
enum BackupProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    switch choices.byte() % 2 {
    case 0: try head(Array(choices.rest))
    case _: try sums(Array(choices.rest))
    }
  }

  private static let versions = ["messages.sqlite": 9, "relay.sqlite": 9, "sync.sqlite": 9]

  private static func head(_ content: [UInt8]) throws(Broken) {
    guard let head = try? BackupHead.decode(content, supporting: versions) else { return }
    let again = try? BackupHead.decode(head.encode(), supporting: versions)
    try hold(again == head, "a head that was read can be written")
    try hold(
      head.stores.allSatisfy { $0.version <= versions[$0.file] ?? 0 },
      "no store is of a newer program")
  }

  private static func sums(_ list: [UInt8]) throws(Broken) {
    guard let found = try? BackupSums.read(list) else { return }
    var sums = BackupSums()
    for path in found.keys {
      try hold(BackupNames.isMember(path), "no listed file is outside of the directory")
      try hold(!path.split(separator: "/").contains(".."), "nor does its path lead out of it")
      sums.add([UInt8](repeating: 0, count: BackupSums.sumBytes), of: path)
    }
    try hold(sums.count == found.count, "each line is another file")
    try hold((try? BackupSums.read(sums.content))?.count == found.count, "a list can be written")
  }
}
