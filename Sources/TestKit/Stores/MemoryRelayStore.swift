public import LinkRuntime
public import LinkWire

/// A relay's store in memory, which fails when a test tells it to.
public actor MemoryRelayStore: RelayStore {
  private var state: RelayKept
  private var faults = Faults()

  /// Begins with what an earlier life kept; with nothing, by default.
  public init(_ kept: RelayKept = RelayKept()) {
    state = kept
  }

  /// Makes the next `count` calls throw `failure` and do nothing else.
  public func failNext(_ count: Int = 1, with failure: StoreFailure) {
    faults.plan(count, failure)
  }

  public func kept() throws(StoreFailure) -> RelayKept {
    try faults.check()
    return state
  }

  public func apply(_ changes: [RelayChange]) throws(StoreFailure) {
    try faults.check()
    for change in changes { state.apply(change) }
  }

  public func close() {
    faults.isClosed = true
  }
}

extension RelayKept {
  /// Makes one change, as every store of the relay does.
  public mutating func apply(_ change: RelayChange) {
    switch change {
    case .phone(let phone):
      phones.removeAll { $0.id == phone.id }
      phones.append(phone)
      phones.sort { $0.id < $1.id }
    case .endPhone(let id):
      phones.removeAll { $0.id == id }
      questions.removeAll { $0.phone == id }
    case .access(let access):
      accesses.removeAll { $0.token == access.token }
      accesses.append(access)
      accesses.sort { $0.token < $1.token }
    case .endAccess(let token): accesses.removeAll { $0.token == token }
    case .question(let question):
      if let known = questions.firstIndex(where: { $0.id == question.id }) {
        questions[known] = question
      } else {
        questions.append(question)
      }
    case .endQuestion(let id): questions.removeAll { $0.id == id }
    }
  }
}
