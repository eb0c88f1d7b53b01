// What of the stream is told a second time: see `Twin`.
extension StreamWorld {
  static var walks: [Walk] {
    [
      { chance in
        var walk = StreamWireWalk(chance)
        return walk.walk(1)
      },
      { chance in
        var walk = TokenWalk(chance)
        return walk.walk(2)
      },
      { chance in
        var walk = StreamKeptWalk(chance)
        return walk.walk(60)
      },
      { chance in
        var walk = StreamPhoneWalk(chance)
        return walk?.walk(260)
      },
      { chance in
        var (parts, words, shop) = (PartsWalk(chance), ShopWordsWalk(chance), ShopWalk(chance))
        return parts.walkAll(8) ?? words.walk(6) ?? shop.walk(150)
      },
    ]
  }
}
