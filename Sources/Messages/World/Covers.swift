import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorldKernel

/// A checker of the covered ranges with which the phone follows the server into another epoch.
///
/// Of a log of another epoch, the phone reads pages. A covered range removes the messages that the
/// server does not have any more, and no others. After calm, no such message is left between the
/// first and the last message of the log. Outside of them it may be: the log may be another
/// history, of which the phone cannot know anything.
struct Covers: StreamChecker {
  private(set) var found = Findings()
  /// The messages of the server's log.
  private var current: [MessageID: ShopMessage] = [:]
  /// The messages that the log of this epoch has lacked at any time.
  private var lacking: Set<MessageID> = []
  private var epoch: String?

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {}

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    switch seen {
    case .fact(.accepted(let message, isNew: true)):
      current[message.id] = message
      epoch = message.position?.epoch
    case .fact(.changed(.edited(let message))): current[message.id] = message
    case .fact(.changed(.deleted(let deletion))): remove([deletion.id])
    case .fact(.beganAnew(let head, let retained)): beginAnew(head, retained)
    case .fact(.stored(let change, let commit)): check(change, commit, facts)
    case .fact, .launched, .killed, .suspended, .resumed, .received, .ticked, .upgraded,
      .serverLost, .wentDead, .server, .began, .ended, .calm:
      return
    }
  }

  private mutating func remove(_ ids: some Sequence<MessageID>) {
    for id in ids {
      current[id] = nil
      lacking.insert(id)
    }
  }

  private mutating func beginAnew(_ head: ShopPosition, _ retained: [ShopMessage]) {
    if head.epoch != epoch { lacking = [] }
    epoch = head.epoch
    remove(Set(current.keys).subtracting(retained.map(\.id)))
    for message in retained { current[message.id] = message }
  }

  /// Checks that the covered ranges of a change remove no message that the server has.
  private mutating func check(
    _ change: TimelineChange, _ commit: TimelineCommit, _ facts: Facts
  ) {
    guard change.covered.contains(where: { $0.epoch == epoch }) else { return }
    let named = Set(change.deletions.map(\.id))
    for key in commit.deleted where !named.contains(key.id) && !lacking.contains(key.id) {
      guard let message = current[key.id] else { continue }
      found.add(.lost, at: facts.now, "removed by a page, and on the server: \(message.text)")
    }
  }

  mutating func conclude(_ facts: Facts) {
    let disk = facts.own.disk
    guard facts.own.server == .positions, disk.gaps.isEmpty,
      disk.cursor.position?.epoch == epoch,
      let first = current.values.map(\.key).min(), let last = current.values.map(\.key).max()
    else { return }
    let left = disk.ordered.filter { key in
      key > first && key < last && current[key.id] == nil
        && disk.messages[key.id]?.position.map { $0.epoch != epoch } ?? false
    }
    guard !left.isEmpty else { return }
    let texts = left.prefix(5).compactMap { disk.messages[$0.id]?.text }
    found.add(
      .outdated, at: facts.now,
      "left of an earlier log: \(left.count) (\(texts.joined(separator: ", ")))")
  }
}
