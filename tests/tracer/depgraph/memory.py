"""The memory of the slow interpreter: its bytes, who wrote each of them last, and the objects of the heap."""

from __future__ import annotations


class Memory:
    """Bytes by address; what reads them notes edges (maker, user, "memory"). `heap`: where the heap begins."""

    def __init__(self, heap: int) -> None:
        self.memory: dict[int, int] = {}
        self.writers: dict[int, int] = {}
        self.objects: dict[int, int] = {}  # heap: address → bytes
        self.free_blocks: dict[int, list[int]] = {}
        self.edges: set[tuple[int, int, str]] = set()
        self.heap = heap

    def poke(self, address: int, data: bytes) -> None:
        for place, byte in enumerate(data):
            self.memory[address + place] = byte

    def peek(self, address: int, length: int) -> bytes:
        return bytes(self.memory.get(address + place, 0) for place in range(length))

    def reads(self, vertex: int, address: int, length: int) -> bytes:
        for place in range(address, address + length):
            if place in self.writers:
                self.edges.add((self.writers[place], vertex, "memory"))
        return self.peek(address, length)

    def writes(self, vertex: int, address: int, data: bytes) -> None:
        self.poke(address, data)
        for place in range(address, address + len(data)):
            self.writers[place] = vertex

    def number_at(self, address: int) -> int:
        return int.from_bytes(self.peek(address, 8), "little")

    def forget(self, address: int, length: int) -> None:
        for place in range(address, address + length):
            self.writers.pop(place, None)

    def text_at(self, vertex: int, address: int) -> bytes:
        """Read a string, its end included in what is read."""
        data = b""
        while self.peek(address + len(data), 1) != b"\0":
            data += self.peek(address + len(data), 1)
        self.reads(vertex, address, len(data) + 1)
        return data

    def allocate(self, size: int) -> int:
        """Fresh memory, the block of this size that was freed last before any new one."""
        room = max(16, -(-size // 16) * 16)
        waiting = self.free_blocks.get(room, [])
        if waiting:
            address = waiting.pop()
        else:
            address = self.heap
            self.heap += room + 16
        self.objects[address] = size
        self.forget(address, size)
        return address

    def release(self, address: int) -> None:
        if address:
            size = self.objects.pop(address)
            self.forget(address, size)
            self.free_blocks.setdefault(max(16, -(-size // 16) * 16), []).append(address)
