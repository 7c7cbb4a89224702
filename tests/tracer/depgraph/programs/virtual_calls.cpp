// Virtual calls: through bases that lie elsewhere in the object, while it is made and unmade, with casts at run time.
#include <cstdio>

static volatile int zero;
struct Shape {
  int side;
  explicit Shape(int s) : side(s) { made(); }
  virtual ~Shape() { side = -1; }
  virtual void made() { side += 1; }
  virtual int area() const = 0;
};
struct Tagged {
  int tag = 7;
  virtual int code() const { return tag; }
  virtual ~Tagged() {}
};
struct Square : Shape {
  explicit Square(int s) : Shape(s) { made(); }
  void made() override { side += 2; }
  int area() const override { return side * side; }
};
struct Block : Square, Tagged {
  int height;
  Block(int s, int h) : Square(s), height(h) { tag = h; }
  ~Block() override { tag = side; }
  int area() const override { return Square::area() * height; }
  int code() const override { return tag * 10 + side; }
};

__attribute__((noinline)) static int use(const Shape *s, const Tagged *t) { return s->area() + t->code(); }

__attribute__((noinline)) static int find(Shape *s) {
  Tagged *tagged = dynamic_cast<Tagged *>(s);
  return tagged ? tagged->code() : -s->area();
}

__attribute__((noinline)) static int through(int (Shape::*method)() const, const Shape *s) { return (s->*method)(); }

int main() {
  Shape *shapes[3] = {new Square(2 + zero), new Block(1 + zero, 5), new Square(3)};
  Tagged plain, *tagged = static_cast<Block *>(shapes[1]);
  int sum = use(shapes[zero], &plain) + use(shapes[1], tagged);
  for (Shape *shape : shapes) sum += find(shape) + through(&Shape::area, shape);
  for (Shape *shape : shapes) delete shape;
  std::printf("%d\n", sum);
  return sum & 127;
}
