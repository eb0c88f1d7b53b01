import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorldKernel

/// A disguise that gives each attempt to send a message a new key, like a client that creates the
/// key with each request.
struct Keys: Sendable {
  /// The entries, indexed by the low half of their key.
  private var entries: [UUID128] = []

  /// The high half of the keys. It is greater than that of any random key, because version 4 has
  /// other bits here (RFC 9562 section 5.4).
  private static let high = UInt64.max

  mutating func sent(_ effect: StreamModel.Effect) -> StreamModel.Effect {
    guard case .post(var entry, let number) = effect else { return effect }
    entries.append(entry.id)
    entry.id = UUID128(high: Self.high, low: UInt64(entries.count - 1))
    return .post(entry, try: number)
  }

  func answered(_ input: StreamModel.Input) -> StreamModel.Input {
    if case .posted(let key, let message) = input { return .posted(entry(of: key), message) }
    if case .edited(let key, let message) = input { return .edited(entry(of: key), message) }
    if case .deleted(let key, let deletion) = input { return .deleted(entry(of: key), deletion) }
    if case .postFailed(let key, let number, let failure) = input {
      return .postFailed(entry(of: key), try: number, failure)
    }
    return input
  }

  private func entry(of key: UUID128) -> UUID128 {
    guard key.high == Self.high, let index = Int(exactly: key.low), entries.indices.contains(index)
    else { return key }
    return entries[index]
  }
}

/// A disguise that hides the epoch of positions. The client sees only offsets, all in the first
/// epoch.
struct Epochs: Sendable {
  private var first: String?
  /// The server's current epoch. Offsets from the client refer to this epoch.
  private var newest: String?

  mutating func hidden(in input: StreamModel.Input) -> StreamModel.Input {
    if case .opened(let attempt, let head, let after, let events) = input {
      return .opened(
        attempt, head: head.map { hide($0) }, after: after.map { hide($0) }, events: events)
    }
    if case .frame(let attempt, .message(let message)) = input {
      return .frame(attempt, .message(hide(message)))
    }
    if case .frame(let attempt, .edited(let message)) = input {
      return .frame(attempt, .edited(hide(message)))
    }
    if case .frame(let attempt, .deleted(let deletion)) = input {
      return .frame(attempt, .deleted(hide(deletion)))
    }
    if case .posted(let id, let message) = input { return .posted(id, hide(message)) }
    guard case .fetched(let id, var page) = input else { return input }
    page.head = page.head.map { hide($0) }
    page.messages = page.messages.map { hide($0) }
    page.changes = page.changes.map { hide($0) }
    page.deleted = page.deleted.map { hide($0) }
    page.through = page.through.map { hide($0) }
    page.changesThrough = page.changesThrough.map { hide($0) }
    page.recovered = true
    return .fetched(id, page)
  }

  func requested(_ effect: StreamModel.Effect) -> StreamModel.Effect {
    if case .open(let attempt, let after) = effect {
      return .open(attempt, after: after.map { shown($0) })
    }
    if case .fetch(let id, .after(let position, let limit)) = effect {
      return .fetch(id, .after(shown(position), limit: limit))
    }
    if case .fetch(let id, .before(let position, let limit)) = effect {
      return .fetch(id, .before(shown(position), limit: limit))
    }
    if case .fetch(let id, .changes(let position, let limit)) = effect {
      return .fetch(id, .changes(after: shown(position), limit: limit))
    }
    if case .fetch(let id, .newest(let position, let limit)) = effect {
      return .fetch(id, .newest(knowing: shown(position), limit: limit))
    }
    return effect
  }

  private func shown(_ position: ShopPosition) -> ShopPosition {
    ShopPosition(epoch: newest ?? position.epoch, offset: position.offset)
  }

  private mutating func hide(_ position: ShopPosition) -> ShopPosition {
    newest = position.epoch
    first = first ?? position.epoch
    return ShopPosition(epoch: first ?? position.epoch, offset: position.offset)
  }

  private mutating func hide(_ message: ShopMessage) -> ShopMessage {
    var hidden = message
    hidden.position = message.position.map { hide($0) }
    hidden.changed = message.changed.map { hide($0) }
    return hidden
  }

  private mutating func hide(_ deletion: ShopDeletion) -> ShopDeletion {
    var hidden = deletion
    (hidden.position, hidden.changed) = (hide(deletion.position), hide(deletion.changed))
    return hidden
  }
}

/// A disguise that makes the client store what an old page brings: the earlier text of a message that
/// was edited, or a message that was deleted.
struct OldVersions: Sendable {
  /// The messages that the client stored, in their last versions.
  private var stored: [MessageID: ShopMessage] = [:]
  /// The versions that were replaced.
  private var replaced: [ShopMessage] = []
  private var deleted: [ShopMessage] = []
  /// Whether a page has arrived since the last change.
  private var hasPage = false

  mutating func noted(_ input: StreamModel.Input) -> StreamModel.Input {
    if case .fetched = input { hasPage = true }
    return input
  }

  /// Adds the replaced versions to a change that follows a page, dated like the newest ones.
  mutating func renewed(_ effect: StreamModel.Effect) -> StreamModel.Effect {
    guard case .commit(let id, var change) = effect else { return effect }
    note(change)
    guard hasPage else { return effect }
    change.edits += replaced.compactMap { old in
      guard let newest = stored[old.id], let changed = newest.changed else { return nil }
      var renewed = old
      renewed.changed = ShopPosition(epoch: changed.epoch, offset: changed.offset + 1)
      (renewed.updatedAt, renewed.isEdited) = (newest.updatedAt, true)
      return renewed
    }
    (replaced, hasPage) = ([], false)
    return .commit(id, change)
  }

  /// Adds the deleted messages to a change that follows a page.
  mutating func revived(_ effect: StreamModel.Effect) -> StreamModel.Effect {
    guard case .commit(let id, var change) = effect else { return effect }
    note(change)
    guard hasPage, change.deletions.isEmpty else { return effect }
    change.messages += deleted
    (deleted, hasPage) = ([], false)
    return .commit(id, change)
  }

  private mutating func note(_ change: TimelineChange) {
    for deletion in change.deletions {
      if let message = stored.removeValue(forKey: deletion.id) { deleted.append(message) }
    }
    for message in change.messages + change.edits {
      guard let old = stored.updateValue(message, forKey: message.id), old.text != message.text
      else { continue }
      replaced.append(old)
    }
  }
}
