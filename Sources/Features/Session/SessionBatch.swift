public import LinkCore
import LinkStorage
import LinkWire

/// Names one change that the store was given.
public struct SessionCommitID: NumberedID {
  /// Counted from the start of the model.
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }
}

/// A change of what a session keeps, and what follows once it is stored.
struct SessionBatch: CommitBatch {
  /// What the store is given.
  var change = ClientSessionChange()
  /// Messages of the server to acknowledge.
  var acks: [String] = []
  /// Prompts that may be sent.
  var prompts: [UUID128] = []
  /// Prompts whose last change is stored along with other changes: if it is lost, the server
  /// repeats what it follows from.
  private var later: [StoredPrompt] = []

  var isEmpty: Bool { change.isEmpty && acks.isEmpty && prompts.isEmpty }

  /// Adds the prompts that are stored along with other changes.
  mutating func seal() {
    for prompt in later { put(prompt) }
  }

  /// Stores a prompt in place of its earlier state.
  mutating func put(_ prompt: StoredPrompt) {
    later.removeAll { $0.id == prompt.id }
    change.prompts.removeAll { $0.id == prompt.id }
    change.prompts.append(prompt)
  }

  /// Stores a prompt along with the next change, and causes no change by itself.
  mutating func putLater(_ prompt: StoredPrompt) {
    later.removeAll { $0.id == prompt.id }
    later.append(prompt)
  }

  /// Stores a conversation in place of its earlier state.
  mutating func put(_ conversation: KnownConversation) {
    change.conversations.removeAll { $0.id == conversation.id }
    change.conversations.append(conversation)
  }

  /// Removes a prompt from the store.
  mutating func forget(_ key: UUID128) {
    later.removeAll { $0.id == key }
    change.prompts.removeAll { $0.id == key }
    change.forgotten.append(key)
  }
}
