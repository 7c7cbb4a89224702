// Recursion: direct, mutual, with a result that becomes an argument, and through a tree on the heap.
#include <stdio.h>
#include <stdlib.h>

static volatile int zero;
struct node { struct node *left, *right; int key, depth; };

__attribute__((noinline)) static int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__attribute__((noinline)) static int odd(int n);
__attribute__((noinline)) static int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__attribute__((noinline)) static int odd(int n) { return n == 0 ? 0 : even(n - 1); }

__attribute__((noinline)) static struct node *insert(struct node *tree, int key) {
  if (!tree) {
    tree = malloc(sizeof *tree);
    *tree = (struct node){NULL, NULL, key, 1};
  } else if (key < tree->key) {
    tree->left = insert(tree->left, key);
    tree->depth = tree->left->depth + 1;
  } else {
    tree->right = insert(tree->right, key);
  }
  return tree;
}

__attribute__((noinline)) static int fold(struct node *tree) {
  int sum = tree ? fold(tree->left) + tree->key * tree->depth + fold(tree->right) : 0;
  free(tree);
  return sum;
}

int main(void) {
  int sum = ackermann(2, 2 + zero) + even(6 + zero);
  struct node *tree = NULL;
  for (int i = 0; i < 7; i++) tree = insert(tree, (i * 5 + zero) % 7);
  sum += fold(tree);
  printf("%d\n", sum);
  return sum & 127;
}
