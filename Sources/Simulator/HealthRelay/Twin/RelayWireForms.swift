import LinkCore

/// A walk that also reads texts in forms that no end writes.
protocol RelayWireForms: TwinWalk {
  /// Names of members that readers look for.
  static var names: [String] { get }
  /// Values that a member of this name may have, those at its bounds among them.
  mutating func values(of name: String) -> [SessionTree]
}

extension RelayWireForms {
  /// Returns a text in its own form, cut off, and with changes.
  mutating func forms(_ tree: SessionTree, _ times: Int = 8) -> [[UInt8]] {
    let bytes = Array(tree.json.utf8)
    let tree = SessionTree(bytes) ?? tree
    var all = [bytes]
    if happens(2) { all.append(Array(bytes.dropLast(number(1...3)))) }
    for _ in 0..<times {
      var other = changed(tree)
      if happens(3) { other = changed(other) }
      let json = happens(5) ? " \n\t" + other.json + "\r " : other.json
      all.append(Array(json.utf8))
      if happens(9) { all.append(Array(json.utf8.dropLast(number(1...9)))) }
    }
    return all
  }

  /// The tree with another value in one place.
  mutating func changed(_ tree: SessionTree, in name: String = "") -> SessionTree {
    switch tree {
    case .object(var members) where !happens(12):
      let place = number(0...max(0, members.count - 1))
      switch number(0...7) {
      case 0, 1: insert(&members)
      case 2 where !members.isEmpty: members.remove(at: place)
      case 3 where !members.isEmpty: members.append(members.remove(at: place))
      case _ where members.isEmpty: insert(&members)
      case _: members[place].value = changed(members[place].value, in: members[place].name)
      }
      return .object(members)
    case .list(var all) where !all.isEmpty && !happens(5):
      let place = number(0...all.count - 1)
      all[place] = changed(all[place], in: name)
      return .list(all)
    case .object, .list, .text, .number, .flag, .null: return value(of: name)
    }
  }

  private mutating func insert(_ members: inout [SessionBranch]) {
    let name = happens(3) ? members.last?.name ?? "odd" : one(Self.names)
    let branch = SessionBranch(name: name, value: value(of: name))
    members.insert(branch, at: number(0...members.count))
  }

  private mutating func value(of name: String) -> SessionTree {
    let own = values(of: name)
    if !own.isEmpty, !happens(3) { return one(own) }
    return one([
      .null, .flag(true), .flag(false), .text(""), .text("a"), .number("1"), .number("1.5"),
      .list([]), .list([.null]), .object([]),
    ])
  }
}
